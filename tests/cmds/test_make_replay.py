"""make_replay as users type it. What is in the replay, test_mainnet.py checks."""

import io

import pytest

from cdb.mainnet_shape import mainnet_shaped_blocks
from cdb.replay import read_blocks
from tests.conftest import Commands, text_of


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--coins", 500], {"coins": 500}),
        (["--heights", 120], {"heights": 120}),
        (["--coins", 500, "--seed", 7], {"coins": 500, "seed": 7}),
        (["--heights", 100, "--coins", 5_000], {"heights": 100, "coins": 5_000}),
        (["--heights", 1_000, "--coins", 50], {"heights": 1_000, "coins": 50}),
    ],
)
def test_the_options_are_the_arguments(
    run_command: Commands, options: list[object], arguments: dict[str, int]
) -> None:
    result = run_command("make_replay", *options).fine()
    assert result.err == ""
    blocks = list(read_blocks(io.BytesIO(result.out)))
    assert blocks == list(mainnet_shaped_blocks(**arguments))
    assert text_of(blocks) == result.out

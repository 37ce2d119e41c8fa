"""make_replay as users type it. What is in the replay, test_mainnet.py checks."""

import io

import pytest

from cdb.text.mainnet_shape import mainnet_shaped_blocks
from cdb.text.replay import read_blocks
from tests.cmds.terminals import shown_on_a_terminal
from tests.conftest import Commands, contents, file_limit, text_of


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
    written = run_command("make_replay", *options, "--output", "replay.txt").fine()
    assert (written.out, written.err) == (b"", "")
    assert contents(run_command.cwd) == {"replay.txt": result.out}


def test_a_file_that_is_there_is_replaced_whole_or_not_at_all(run_command: Commands) -> None:
    path = run_command.cwd / "replay.txt"
    path.write_text("before")
    limits = file_limit(10_000)
    result = run_command("make_replay", "--coins", 1000, "--output", path, **limits)
    told = "replay.txt: File too large (EFBIG); allow larger files (ulimit -f), then try again"
    assert result.error().endswith(told)
    assert contents(run_command.cwd) == {"replay.txt": b"before"}
    run_command("make_replay", "--coins", 5, "--output", path).fine()
    assert path.read_bytes() == run_command("make_replay", "--coins", 5).fine().out


def test_what_is_no_file_is_written_as_it_is(run_command: Commands) -> None:
    run_command("make_replay", "--coins", 5, "--output", "/dev/null").fine()
    link = run_command.cwd / "link"
    link.symlink_to("elsewhere")
    assert "this is a link" in run_command("make_replay", "--coins", 5, "--output", link).error()


@pytest.mark.parametrize("options", [["--coins", 2_000], ["--heights", 200]])
def test_progress_is_shown_on_a_terminal(run_command: Commands, options: list[object]) -> None:
    line = ("make_replay", *options, "--output", "replay.txt")
    code, printed = shown_on_a_terminal(run_command, *line)
    assert code == 0
    assert "100%" in printed
    assert shown_on_a_terminal(run_command, *line, "-q") == (0, "")

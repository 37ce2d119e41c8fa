"""bench where it can't run: one line, and nothing is left."""

from importlib.util import find_spec

import pytest

from tests.conftest import Commands, contents


@pytest.mark.skipif(find_spec("chia") is not None, reason="chia-blockchain is installed here")
def test_without_chia_it_says_how_to_install_it(run_command: Commands) -> None:
    error = run_command("bench", "node", "--quick").error()
    assert error.startswith("chia-blockchain is not installed beside cdb; pip install ")
    assert not contents(run_command.cwd)


@pytest.mark.parametrize(
    "options",
    [("--coins", 5), ("--runs", 0), ("--profile", "FASTER"), ("--dir", "nowhere"), ("--dir", "")],
)
def test_wrong_usage(options: tuple[str | int, ...], run_command: Commands) -> None:
    run_command("bench", "node", *options).usage_error()


@pytest.mark.parametrize("kind", ["run", "node", "week", "engines"])
def test_what_checks_results_is_looked_for_before_anything_is_measured(
    kind: str, run_command: Commands
) -> None:
    (run_command.cwd / "jsonschema.py").write_text("raise ImportError\n")
    error = run_command("bench", kind, cwd=run_command.cwd).error()
    assert error == "results are checked by jsonschema: pip install 'coinset-db[bench]'"
    assert not (run_command.cwd / "results").exists()

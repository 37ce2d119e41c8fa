"""What is printed is text: nothing in it is obeyed by a terminal, wherever it comes from."""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import click
import pytest

import cdb.cmds
from cdb.cmds import runner
from cdb.cmds.echo import echo
from cdb.cmds.verify import verify
from cdb.schemas import open_schema
from cdb.testing.chains import sample_chain

ESCAPE = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e\r\udcff"


def test_lines_stay_and_control_characters_go(capsys: pytest.CaptureFixture[str]) -> None:
    echo(f"one{ESCAPE}\ntwo")
    echo("three", err=True, nl=False)
    printed = capsys.readouterr()
    assert printed.out == "one�]0;title��[2J�31m���\ntwo\n"
    assert printed.err == "three"


def test_all_commands_print_so() -> None:
    for module in Path(cdb.cmds.__file__).parent.glob("*.py"):
        text = module.read_text("utf-8")
        assert module.name == "echo.py" or "click.echo(" not in text, module
        assert "print(" not in text, module


@pytest.mark.parametrize("table", ["coin_record", "cdb_block"])
def test_a_databases_own_names_are_no_commands(
    tmp_path: Path,
    table: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "data\x1b[31mbase"
    with open_schema("blockchain_v2", path) as schema:
        schema.accept_block(sample_chain(1).blocks[0])
    with closing(sqlite3.connect(path)) as connection:
        column = ESCAPE.replace("\udcff", "")
        connection.execute(f'ALTER TABLE {table} ADD COLUMN "{column}" AS (1)')
    monkeypatch.setattr(sys, "argv", ["verify", "blockchain_v2", "--db", str(path)])
    with pytest.raises(SystemExit) as end:
        runner.run(verify)
    assert end.value.code == 1
    printed = capsys.readouterr()
    assert "is computed, not stored" in printed.err + printed.out
    assert all(line.isprintable() for line in (printed.err + printed.out).split("\n"))


def test_a_usage_error_is_no_command_either(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["verify", "memory", "--db", "x", ESCAPE])
    with pytest.raises(SystemExit) as end:
        runner.run(verify)
    assert end.value.code == click.UsageError.exit_code
    printed = capsys.readouterr()
    assert "unexpected extra argument" in printed.err
    assert all(line.isprintable() for line in printed.err.split("\n"))


def test_a_name_with_line_ends_forges_no_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "database"
    open_schema("flat_file", path).close()
    (path / "index" / "x\ndigest 00").symlink_to(path)
    monkeypatch.setattr(sys, "argv", ["verify", "flat_file", "--db", str(path)])
    with pytest.raises(SystemExit):
        runner.run(verify)
    printed = capsys.readouterr()
    assert "x�digest 00" in printed.out + printed.err
    assert "\ndigest" not in printed.out + printed.err

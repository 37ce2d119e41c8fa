"""Markdown and a terminal's text: the same figures, and nothing that results could smuggle in."""

import re
from html import unescape

import pytest

from cdb.report.build import build
from cdb.report.document import document
from cdb.report.model import LOAD, Report
from cdb.report.rules import LIMITS, RULES
from cdb.report.text import escaped, markdown, terminal
from tests.report.fixtures import HOSTILE, every_failure, matrix, run, sixty_runs


@pytest.fixture(scope="module")
def report() -> Report:
    """Two machines; on one of them everything goes wrong."""
    return build([*every_failure(), *matrix(machine="m2", profile="SLOW")])


@pytest.fixture(scope="module")
def written(report: Report) -> str:
    """As Markdown."""
    return markdown(document(report))


@pytest.fixture(scope="module")
def printed(report: Report) -> str:
    """As a terminal gets it."""
    return terminal(document(report))


def cells_of(line: str) -> list[str]:
    """The cells of a line of a pipe table, as they are read."""
    cells = re.split(r"(?<!\\)\|", line)[1:-1]
    return [unescape(re.sub(r"\\(.)", r"\1", cell)).strip() for cell in cells]


def test_both_tell_the_same_figures(written: str, printed: str) -> None:
    in_cells = [cells_of(line) for line in written.splitlines() if line.startswith("|")]
    told = [" ".join(" ".join(cells).split()) for cells in in_cells if not cells[0].startswith(":")]
    # Without what only one of the two has: rules between lines, and the cells' alignment.
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    assert len(told) > 100
    assert set(told) <= lines


def test_every_table_is_one(written: str) -> None:
    blocks = [block for block in written.split("\n\n") if block.startswith("|")]
    assert len(blocks) > 10
    for block in blocks:
        assert len({len(cells_of(line)) for line in block.splitlines()}) == 1


def test_every_figure_is_there(report: Report, printed: str) -> None:
    for group in report.groups:
        for row in group.lines:
            for figures in row.figures.values():
                for name, spread in figures.items():
                    assert spread.median_text(name) in printed
            if LOAD in row.figures:
                assert row.figures[LOAD]["wall_seconds"].text("wall_seconds") in printed


def test_cards_commands_descriptions_and_rules_are_there(written: str) -> None:
    for text in (
        "| CPU model name ",
        "| M2 9000 ",
        "16.8 MB/s",
        "```sh\ncdb bench run --coins 1000000 --profile FAST --dir '/mnt/a disk'\n```",
        "| git commit ",
        "An append-only log of blocks; an 8-byte index.",
        "## How was this measured?",
        "github.com/richardkiss/cdb",
    ):
        assert text in written
    for rule in (*RULES, *LIMITS):
        assert f"- {rule}" in written


def test_the_floor_and_null_are_no_contestants(printed: str) -> None:
    _, _, costs = printed.partition("\nWhat a load costs in time:\n")
    rows = {line.split()[0]: " ".join(line.split()) for line in costs.splitlines()[1:13] if line}
    assert rows["floor"].startswith("floor 0.144 / 0.150 / 0.156 s ×1 6.41 ")
    assert rows["coin_log"].startswith("coin_log 0.269 / 0.280 / 0.291 s ×1.0 ×1.87 ")
    assert rows["null"].startswith("null keeps nothing 0.115 / 0.120 / 0.125 s ×0.8 ")


def test_failures_are_told_with_their_reasons(printed: str) -> None:
    for line in (
        "- sqlite_row: load: failed: its process was killed by signal 9",
        "- rocks: load: not measured: librocksdb is not on this machine",
        "- blockchain_v2: load: 700 k of 1 M in 19 m 48 s: ended at the limit of 20 minutes",
        "- interval@rocksdb: rewind: failed in 1 of 5 runs: its process was killed by signal 9",
    ):
        assert line in printed.splitlines()
    assert re.search(r"^flat_file ✗ +✗ wrong ", printed, re.MULTILINE)


def test_nothing_in_results_is_markup_or_control(written: str, printed: str) -> None:
    assert "&lt;script&gt;" in written
    assert "<" not in written
    assert r"\`\*\_x\_\*\`" in written
    assert not re.search(r"(?<!\\)\[a", written)
    for text in (written, printed):
        assert "alert(" in text
        assert "\x1b" not in text


def test_names_are_readable_in_markdown() -> None:
    assert escaped("coin_log, _x_ __y__ a|b") == r"coin_log, \_x\_ \_\_y\_\_ a\|b"
    assert escaped("two\nlines\x07") == "two lines�"
    assert len(escaped("x" * 9000)) == 2000


def test_a_command_is_not_changed() -> None:
    result = run("coin_log")
    command = f"cdb  bench run --input '```' {'--x ' * 999}"
    result["matrix"] = result["matrix"] | {"command": command}
    parts = document(build([result]))
    assert f"````sh\n{command}\n````" in markdown(parts)
    assert f"  {command}\n" in terminal(parts)


def test_a_busy_machine_is_told() -> None:
    documents = matrix(("coin_log",))
    assert "⚠ busy" not in terminal(document(build(documents)))
    documents[2] = documents[2] | {"others_cores": 1.25}
    assert "up to 1.2 cores in runs of coin_log:" in terminal(document(build(documents)))


def test_sixty_runs_are_two_groups() -> None:
    printed = terminal(document(build(sixty_runs())))
    assert printed.count("\nWhat a load costs in time:\n") == 2
    assert HOSTILE not in printed

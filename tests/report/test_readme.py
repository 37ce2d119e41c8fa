"""The README's table comes from the results that lie beside it."""

from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

import cdb
from cdb.engines import ENGINES
from cdb.report.build import build
from cdb.report.read import read
from cdb.report.readme import BEGIN, END, PICTURE, ReadmeError, picture, with_table
from tests.engines import OTHER
from tests.report.fixtures import HOSTILE, every_failure, matrix

ROOT = Path(cdb.__file__).parents[1]
TEXT = f"# Title\n\n{BEGIN}\nold\n{END}\n\nmore\n"


def test_the_table_of_the_readme_is_that_of_the_committed_results() -> None:
    readme, results = ROOT / "README.md", ROOT / "results"
    if not any(results.rglob("*.json")):
        pytest.skip("there are no results yet that the README's table could come from")
    text, report = readme.read_text("utf-8"), build(read([results]))
    command = "run cdb report results --readme README.md"
    assert with_table(text, report, readme) == text, command
    assert f"]({PICTURE})" in text
    assert picture(report) == (ROOT / PICTURE).read_text("utf-8"), command


def test_the_picture_has_a_bar_for_each_figure() -> None:
    report = build([*matrix(("floor", "coin_log", "rocks")), *matrix((HOSTILE,), 1)])
    drawn = fromstring(picture(report))  # noqa: S314
    svg = "{http://www.w3.org/2000/svg}"
    texts = [each.text for each in drawn.iter(f"{svg}text")]
    assert {"coin_log", "rocks", "3.57 M/s", "222 k/s", "69 B"} <= {*texts}
    assert "floor" not in texts
    widths = [float(each.attrib["width"]) for each in drawn.iter(f"{svg}rect")]
    loads = widths[: len(widths) // 3 + 1]
    assert loads[1] / loads[0] == pytest.approx(0.28 / 4.5, rel=0.01)
    with pytest.raises(ReadmeError, match="no results"):
        picture(build([]))


def test_a_table_of_five_columns_with_a_link_for_each_schema(tmp_path: Path) -> None:
    pages = tmp_path / "docs" / "schemas"
    pages.mkdir(parents=True)
    (pages / "coin_log.md").touch()
    documents = [*matrix(), *matrix(("coin_log",), 1, profile="SLOW")]
    text = with_table(TEXT, build(documents), tmp_path / "README.md")
    assert text.startswith(f"# Title\n\n{BEGIN}\n![The table below as bars]({PICTURE})\n\n| schema")
    assert text.endswith(f"\n{END}\n\nmore\n")
    assert "\nold\n" not in text
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    table = {row[0]: row[1:] for row in rows if row}
    assert table["schema"] == ["take it", "load, coins/s", "look-ups/s", "bytes per coin"]
    take_it, *figures = table["[coin_log](docs/schemas/coin_log.md)"]
    assert take_it.startswith("to follow the tip")
    assert figures == ["3.57 M/s", "–", "69 B"]
    assert table["rocks"][1] == "222 k/s"
    assert not {"floor", "null"} & table.keys()
    assert "Medians on epyc, FAST, 1,000,000 coins, flushed to survive power loss" in text
    assert with_table(text, build(documents), tmp_path / "README.md") == text


def test_a_layout_in_an_engine_has_the_page_of_its_module(tmp_path: Path) -> None:
    pages = tmp_path / "docs" / "schemas"
    pages.mkdir(parents=True)
    (pages / "rocks_kv.md").touch()
    text = with_table(TEXT, build(matrix(("interval@rocksdb",), 1)), tmp_path / "README.md")
    assert "| [interval@rocksdb](docs/schemas/rocks_kv.md) " in text


def test_engines_that_do_not_say_when_to_take_them_are_left_to_the_page(tmp_path: Path) -> None:
    silent = [f"interval@{name}" for name, engine in ENGINES.items() if not engine.good_for]
    documents = matrix(("coin_log", "offset_log", *silent), 1)
    text = with_table(TEXT, build(documents), tmp_path / "README.md")
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    assert silent
    assert rows == ["schema", "coin_log"]


def test_layouts_options_and_older_names_are_left_to_the_page(tmp_path: Path) -> None:
    left_out = ("rocks_kv", "interval@rocksdb,payload=inline", f"mono_space@{OTHER}")
    documents = matrix(("interval@rocksdb", *left_out, "theirs"), 1)
    text = with_table(TEXT, build(documents), tmp_path / "README.md")
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    assert set(rows) == {"schema", "interval@rocksdb", "theirs"}


def test_failures_have_their_mark_and_no_time(tmp_path: Path) -> None:
    text = with_table(TEXT, build(every_failure()), tmp_path / "README.md")
    assert "<script>" not in text
    rows = {
        line.split("|")[1].strip(): line.split("|")[3].strip()
        for line in text.splitlines()
        if line.startswith("| ")
    }
    assert rows["flat_file"] == "✗"
    assert rows["rocks"] == "not measured"
    assert not {"memory", "sqlite_row"} & rows.keys()


@pytest.mark.parametrize("text", ["", f"{BEGIN}\n", f"{END}\n{BEGIN}\n", f"x {BEGIN} {END}\n"])
def test_a_readme_without_a_place_is_an_error(text: str) -> None:
    with pytest.raises(ReadmeError, match="there are no lines"):
        with_table(text, build(matrix(("coin_log",))), Path("README.md"))


def test_no_results_draw_no_table() -> None:
    for documents in ([], matrix(("offset_log", "memory"))):
        with pytest.raises(ReadmeError, match="no results"):
            with_table(TEXT, build(documents), Path("README.md"))

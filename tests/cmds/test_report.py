"""report: results in, documents out."""

import sys
from pathlib import Path

import pytest

from cdb.report.readme import BEGIN, END, NODE_BEGIN, NODE_END, PICTURE, WEEK_BEGIN, WEEK_END
from tests.conftest import Commands, contents
from tests.report.fixtures import matrix, write
from tests.report.node_fixtures import comparison, week


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Results of two profiles, where the command looks for them."""
    documents = [*matrix(("floor", "coin_log"), 1), *matrix(("coin_log",), 1, profile="SLOW")]
    write(documents, tmp_path / "bench-results")
    return tmp_path / "bench-results"


@pytest.mark.parametrize(("form", "title"), [("md", "# Which store"), ("terminal", "Which store")])
def test_text_goes_to_standard_output(
    form: str, title: str, run_command: Commands, results: Path
) -> None:
    before = contents(results.parent)
    result = run_command("report", "--format", form).fine()
    assert result.out.decode().startswith(title)
    assert "0.280 s" in result.out.decode()
    assert result.err == ""
    assert contents(results.parent) == before


def test_machines_of_the_first_place_come_first(run_command: Commands, results: Path) -> None:
    write(matrix(("coin_log", "rocks"), 1, machine="abacus"), results.parent / "published")
    out = run_command("report", results, "published", "--format", "md").fine().out.decode()
    titles = [line for line in out.splitlines() if line.startswith("## ")]
    conditions = "1,000,000 coins · survives power loss"
    assert titles[:3] == [
        f"## epyc · FAST · {conditions}",
        f"## epyc · SLOW · {conditions}",
        f"## abacus (measured elsewhere) · FAST · {conditions}",
    ]
    alone = run_command("report", "--format", "md").fine().out.decode()
    assert "abacus" not in alone
    assert "elsewhere" not in alone


def test_text_goes_to_a_file(run_command: Commands, results: Path) -> None:
    printed = run_command("report", results, "--format", "md").fine().out
    result = run_command("report", results / "epyc", "--format", "md", "--out", "r.md").fine()
    assert (result.out, result.err) == (b"", "wrote r.md\n")
    assert (run_command.cwd / "r.md").read_bytes() == printed


def test_two_profiles_are_compared(run_command: Commands, results: Path) -> None:
    out = run_command("report", "--compare", "FAST", "SLOW").fine().out.decode()
    assert "SLOW / FAST" in out
    assert "no difference shown" in out
    out = run_command("report", "--compare", "FAST", "SLOW", "--format", "md").fine().out.decode()
    assert out.startswith("# FAST and SLOW\n")


def test_the_table_of_a_readme_is_drawn(run_command: Commands, results: Path) -> None:
    readme = run_command.cwd / "README.md"
    readme.write_text(f"one\n{BEGIN}\n{END}\ntwo\n", "utf-8")
    run_command("report", "--readme", readme).fine()
    assert "| coin_log " in readme.read_text("utf-8")
    drawn = readme.read_bytes()
    run_command("report", "--readme", readme).fine()
    assert readme.read_bytes() == drawn
    (run_command.cwd / "docs").mkdir()
    run_command("report", "--readme", readme).fine()
    assert f"]({PICTURE})" in readme.read_text("utf-8")
    assert (run_command.cwd / PICTURE).read_text("utf-8").startswith("<svg ")


def test_the_tables_of_the_nodes_stores_are_drawn(run_command: Commands, results: Path) -> None:
    guide = run_command.cwd / "chia.md"
    guide.write_text(f"one\n{NODE_BEGIN}\n{NODE_END}\ntwo\n", "utf-8")
    assert "no results of cdb bench node" in run_command("report", "--node", guide).error()
    write(comparison(), results)
    run_command("report", "--node", guide).fine()
    assert "| new_block: coins 45 " in guide.read_text("utf-8")
    guide.write_text("nothing here\n", "utf-8")
    assert "there are no lines" in run_command("report", "--node", guide).error()
    assert guide.read_text("utf-8") == "nothing here\n"


def test_the_tables_of_a_week_are_drawn(run_command: Commands, results: Path) -> None:
    guide = run_command.cwd / "chia.md"
    guide.write_text(f"one\n{WEEK_BEGIN}\n{WEEK_END}\ntwo\n", "utf-8")
    assert "no results of cdb bench week" in run_command("report", "--week", guide).error()
    write(week(), results)
    run_command("report", "--week", guide).fine()
    assert "| sync: blocks 4,000 " in guide.read_text("utf-8")


def test_a_readme_without_a_place_stays_as_it_is(run_command: Commands, results: Path) -> None:
    readme = run_command.cwd / "README.md"
    readme.write_text("nothing here\n", "utf-8")
    assert "there are no lines" in run_command("report", "--readme", readme).error()
    assert readme.read_text("utf-8") == "nothing here\n"
    readme.write_bytes(b"\xff")
    assert run_command("report", "--readme", readme).error().startswith(f"{readme} is no UTF-8")


def test_no_results_is_said_with_what_to_do(run_command: Commands) -> None:
    expected = "there are no results at bench-results; make some: cdb bench run"
    assert run_command("report").error() == expected
    (run_command.cwd / "bench-results").mkdir()
    expected = "there are no results below bench-results; make some: cdb bench run"
    assert run_command("report").error() == expected


def test_a_bad_file_is_one_line(run_command: Commands, results: Path) -> None:
    (results / "bad.json").write_text("{", "utf-8")
    assert run_command("report").error().startswith("bench-results/bad.json is no JSON: ")
    (results / "bad.json").write_text("{}", "utf-8")
    assert run_command("report").error().startswith("bench-results/bad.json: $: ")
    assert not (run_command.cwd / "report.html").exists()


def test_an_unknown_name_is_one_line(run_command: Commands, results: Path) -> None:
    error = run_command("report", "--compare", "FAST", "faster").error()
    assert error.startswith("no faster among the results; machines: epyc; profiles: FAST, SLOW;")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--compare", "FAST", "SLOW", "--format", "html"),
        ("--readme", "README.md", "--format", "md"),
        ("--node", "README.md", "--out", "r.md"),
        ("--node", "README.md", "--readme", "README.md"),
        ("--week", "README.md", "--compare", "FAST", "SLOW"),
        ("--week", "README.md", "--node", "README.md"),
        ("--format", "pdf"),
        ("nowhere",),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], run_command: Commands) -> None:
    (run_command.cwd / "README.md").touch()
    run_command("report", *arguments).usage_error()


def test_what_is_missing_is_said_with_how_to_install_it(
    run_command: Commands, results: Path
) -> None:
    program = (
        "import sys; sys.modules['tabulate'] = None\n"
        "from cdb.cmds.report import report; from cdb.cmds.runner import run; run(report)"
    )
    process = run_command.popen([sys.executable, "-c", program])
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.decode() == (
        "error: a report needs tabulate; install it: pip install 'coinset-db[report]'\n"
    )

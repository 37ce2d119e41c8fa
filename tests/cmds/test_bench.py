"""bench load and bench floor as users type them."""

import re
import signal

import pytest

from cdb.cmds.bench_load import bench_load
from cdb.cmds.bench_options import Source
from cdb.cmds.bench_parts import Part
from tests.bench.processes import is_running, soon
from tests.conftest import Commands, contents

WAIT_SECONDS = 30
pytestmark = pytest.mark.long  # of the lab, not of what it looks at

WARM = "read_random, existing, batch 1,000, threads 1, warm, settled, objects: names/s"
REWIND = "rewind, heights 1: ms"
SPREAD = r"[\d.,]+ / [\d.,]+ / [\d.,]+"
BROKEN = """
from cdb.schemas.memory import MemorySchema

class Wrong(MemorySchema):
    def blocks(self):
        return list(super().blocks())[:-1]

class Stays(MemorySchema):
    def rewind_to_block_index(self, block_index):
        pass

class Sleeps(MemorySchema):
    def flush(self):
        import os, pathlib, time
        pathlib.Path("sleeping").write_text(str(os.getpid()))
        time.sleep(600)

class SleepsWhenLoadedAgain(Sleeps):
    def flush(self):
        if "cdb-place-" in str(self._path):
            super().flush()
        MemorySchema.flush(self)
"""


@pytest.fixture
def in_empty(run_command: Commands) -> Commands:
    """Commands beside a module `broken`; what they measure goes below `here`."""
    run_command.cwd.joinpath("broken.py").write_text(BROKEN)
    run_command.cwd.joinpath("here").mkdir()
    return run_command


def rows(out: bytes) -> dict[str, str]:
    """The lines of tables, by their first column without a dagger; the first of each."""
    lines = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in out.decode().splitlines()]
    return {line[0].removesuffix(" †"): line[1] for line in reversed(lines) if len(line) == 2}


def test_load(in_empty: Commands, replay: bytes) -> None:
    in_empty.cwd.joinpath("replay.txt").write_bytes(replay)
    options = ["--input", "replay.txt", "--runs", 2, "--dir", "here"]
    result = in_empty("bench_load", "memory", "null", *options).fine()
    printed = rows(result.out)
    assert result.out.decode().startswith("2,000 coins, ")
    for name in ("floor, 2 threads", "floor, 1 thread", "memory", "null"):
        assert re.match(rf"{SPREAD}  +{SPREAD}  ", printed[name]), printed[name]
    assert printed["floor, 2 threads"].split()[10:12] == ["1.00", "1.00"]
    assert printed["memory"].endswith("✓")
    assert printed["null"].endswith("keeps nothing")
    for label in (
        WARM,
        REWIND,
        "open, kill: ms",
        "append, commit coins 45: × a bare append and sync",
        "objects: coins/s",
    ):
        assert re.fullmatch(SPREAD, printed[label]), label
    note = re.fullmatch(
        r"not measured (\[\d\])", printed["memory: s with memory for a third of the data"]
    )
    assert note
    assert re.search(
        rf"^{re.escape(note[1])} .* too few for Python alone$", result.out.decode(), re.M
    )
    assert "; †: fewer than 5\n" in result.out.decode()
    assert contents(in_empty.cwd / "here") == {}
    started = re.findall(r"^load (\d+) of 8: ([^;\n]*)", result.err, re.MULTILINE)
    assert [int(number) for number, _ in started] == list(range(1, 9))
    names = [name for _, name in started]
    assert names[4:] == [*names[1:4], names[0]]


def test_several_sizes_in_a_group(in_empty: Commands) -> None:
    line = ["bench", "load", "memory", "--coins", 900, "--coins", 300, "--runs", 1, "--loads-only"]
    out = in_empty("main", *line, "--dir", "here").fine().out.decode()
    assert "read_random" not in out
    table = out.rpartition("µs a coin")[2]
    assert re.match(r" *300 coins † +900 coins † +last / first\n", table), table
    assert re.search(r"^memory, CPU( +[\d.]+){3}$", table, re.MULTILINE)
    assert contents(in_empty.cwd / "here") == {}


def test_the_whole_table(
    in_empty: Commands, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small, large = Source(coins=300), Source(coins=900)
    parts = (
        Part(large, ("memory",), afterwards=True),
        Part(large, ("flat_file",), runs=1),
        Part(small, ("sqlite_v3", "flat_file"), runs=1),
    )
    monkeypatch.setattr("cdb.cmds.bench_load.WHOLE_TABLE", parts)
    monkeypatch.setattr("cdb.bench.comparison.AFTERWARDS", ("rewind",))  # test_load makes all
    here = in_empty.cwd / "here"
    bench_load.main(
        ["--runs", "5", "--flush-every", "50", "--dir", str(here)], standalone_mode=False
    )
    printed = capsys.readouterr().out.split("\n\n")
    first, second, third, growth = [part for part in printed if not part.startswith("  ")]
    (afterwards,) = [part for part in printed if part.startswith("  ")]
    assert REWIND in rows(afterwards.encode())
    assert re.match(r"900 coins, .* flush each 50 coins, .* of 5 runs\n", first)
    assert re.match(r"900 coins, .* flush each 50 coins, .* of 1 run; †: fewer than 5\n", second)
    assert re.match(r"300 coins, .* flush each 50 coins, .* of 1 run; †: fewer than 5\n", third)
    assert set(rows(second.encode())) >= {"floor, 2 threads", "flat_file"}
    assert "†" not in first
    assert re.match("µs a coin +300 coins † +900 coins † +last / first\n", growth)
    assert "flat_file, wall" in growth
    assert "sqlite_v3" not in growth
    assert contents(here) == {}


def test_floor(in_empty: Commands) -> None:
    result = in_empty("bench_floor", "--heights", 300, "--runs", 3, "--dir", "here").fine()
    printed = rows(result.out)
    for name in ("floor, 2 threads", "floor, 1 thread"):
        assert re.match(rf"{SPREAD}  +{SPREAD}  ", printed[name])
        assert " 80.00 " in printed[name]
    assert contents(in_empty.cwd / "here") == {}


def test_what_is_kept(in_empty: Commands) -> None:
    options = ["--coins", 200, "--runs", 1, "--keep", "--dir", "here", "--loads-only"]
    result = in_empty("bench_load", "memory", *options).fine()
    (place,) = in_empty.cwd.joinpath("here").iterdir()
    assert f"kept: here/{place.name}\n" in result.err
    assert (place / "0" / "replay.txt").stat().st_size > 0
    held = in_empty("verify", "memory", "--db", place / "0" / "of-memory" / "db").fine()
    assert b"200" in held.out


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("bench_load sqlite_v4", "no schema 'sqlite_v4'; did you mean sqlite_v3"),
        ("bench_load memory sqlite_v4", "no schema 'sqlite_v4'; did you mean sqlite_v3"),
        ("bench_load memory --coins 1000000000000000", "free some, or take another --dir"),
        ("bench_floor --coins 1000000000000000", "free some, or take another --dir"),
        ("bench_load memory --input broken.py --dir here", "line 2: expected"),
        ("bench_floor --input broken.py --dir here", "line 2: expected"),
    ],
)
def test_errors(in_empty: Commands, line: str, problem: str) -> None:
    result = in_empty(*line.split())
    assert result.code == 1
    last = result.err.splitlines()[-1]
    assert last.startswith("error: ")
    assert problem in last
    assert "Traceback" not in result.err
    assert contents(in_empty.cwd / "here") == {}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("bench", "Usage"),
        ("bench nonsense", "No such command"),
        ("bench_load --coins 1", "--coins"),
        ("bench_load --heights 1", "--heights"),
        ("bench_load --runs 0", "--runs"),
        ("bench_load --flush-every 0", "--flush-every"),
        ("bench_load --durability strong", "--durability"),
        ("bench_floor memory", "unexpected extra argument"),
        ("bench_floor --dir nowhere", "does not exist"),
        ("bench_floor --input nowhere", "does not exist"),
    ],
)
def test_usage_errors(run_command: Commands, line: str, problem: str) -> None:
    assert problem in run_command(*line.split()).usage_error()


def test_a_durability_that_a_schema_lacks(in_empty: Commands) -> None:
    in_empty.cwd.joinpath("weak.py").write_text(
        "from cdb.durability import Durability\n"
        "from cdb.schemas.memory import SCHEMA\n"
        "DURABILITIES = (Durability.PROCESS,)\n"
    )
    assert in_empty("bench_load", "weak").error() == "schema weak has no durability 'power'"


def test_a_wrong_digest_has_no_figures(in_empty: Commands) -> None:
    options = ["--coins", 2_000, "--runs", 1, "--dir", "here", "--loads-only"]
    result = in_empty("bench_load", "broken:Wrong", "memory", *options)
    assert result.code == 1
    printed = rows(result.out)
    assert set(printed["broken:Wrong"].split()) == {"–", "✗"}
    assert printed["memory"].endswith("✓")
    assert re.search(r"^error: broken:Wrong: its digest is \w+, and should be", result.err, re.M)
    assert contents(in_empty.cwd / "here") == {}


def test_a_wrong_answer_is_an_error(in_empty: Commands) -> None:
    result = in_empty("bench_load", "broken:Stays", "--coins", 900, "--runs", 1, "--dir", "here")
    assert result.code == 1
    printed = rows(result.out)
    assert printed["broken:Stays"].endswith("✓")
    assert re.fullmatch(r"wrong \[\d\]", printed["rewind: ms"])
    assert re.fullmatch(r"not measured \[\d\]", printed["append: µs"])
    assert "error: broken:Stays, rewind: the newest block is " in result.err


@pytest.mark.parametrize(
    ("schema", "number"),
    [
        ("Sleeps", signal.SIGINT),
        ("Sleeps", signal.SIGTERM),
        ("SleepsWhenLoadedAgain", signal.SIGINT),
    ],
)
def test_an_interrupt_leaves_nothing(
    in_empty: Commands, schema: str, number: signal.Signals
) -> None:
    options = ["--coins", 200, "--runs", 1, "--dir", "here"]
    process = in_empty.start("bench_load", f"broken:{schema}", *options)
    mark = in_empty.cwd / "sleeping"
    assert soon(lambda: mark.exists() and mark.read_text() != "")
    worker = int(mark.read_text())
    process.send_signal(number)
    _, err = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 128 + number
    assert b"Traceback" not in err
    assert soon(lambda: not is_running(worker))
    assert contents(in_empty.cwd / "here") == {}

"""load_blocks as users type it: what it loads, what it prints, and that it goes on."""

import json
import os
import re
import signal
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from cdb.cmds.load import LoadOptions, LoadStoppedError, load_stream
from cdb.contents.state import summarize, verify
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.durability import Durability
from cdb.errors import DatabaseError, StorageError
from cdb.schemas import Schema, SchemaInfo, find_schema
from cdb.schemas.memory import MemorySchema
from cdb.text.mainnet_shape import mainnet_shaped_blocks
from tests.cmds.terminals import shown_on_a_terminal
from tests.conftest import Commands, contents, digest_of, load_all, own_schemas, text_of

Blocks = tuple[BlockSpendInfo, ...]
WAIT_SECONDS = 60


def figures(err: str) -> dict[str, str]:
    """The summary that load_blocks prints, by label."""
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in err.splitlines())


def newest(schema: SchemaInfo, path: Path) -> int | None:
    with schema.open(path, read_only=True) as database:
        return database.last_block_index


# What is loaded


@pytest.mark.parametrize("name", own_schemas())
def test_the_historical_command_line(
    run_command: Commands, name: str, replay: bytes, blocks: Blocks, digest: str
) -> None:
    spec = f"cdb.schemas.{name}:REPLAY"
    result = run_command("load_blocks", spec, "--max-blocks=3000000", input=replay).fine()
    assert result.out == b""
    printed = figures(result.err)
    spends = sum(len(block.spends) for block in blocks)
    assert printed["database"] == find_schema(spec).default_path
    assert printed["blocks"] == str(len(blocks))
    assert printed["coins"] == "2,000"
    assert printed["spends"] == f"{spends:,}"
    assert printed["newest block"] == str(blocks[-1].index)
    assert printed["digest"] == digest
    assert float(printed["seconds"]) > 0
    assert list(printed) == [
        *("database", "blocks", "coins", "spends", "seconds", "coins/s", "bytes written", "size"),
        *("newest block", "digest", "digest took"),
    ]
    assert re.fullmatch(r"\d+\.\d\d s more; --no-digest skips it", printed["digest took"])
    database = run_command.cwd / find_schema(name).default_path
    assert database.exists()
    dump = run_command("dump_blocks", spec).fine()
    assert dump.out == replay
    assert dump.err == ""


def test_input_and_db(run_command: Commands, replay: bytes, digest: str) -> None:
    run_command.cwd.joinpath("replay.txt").write_bytes(replay)
    result = run_command("load_blocks", "memory", "--input", "replay.txt", "--db", "here.db")
    assert figures(result.fine().err)["digest"] == digest
    assert set(contents(run_command.cwd)) - {"here.db.lock"} == {"replay.txt", "here.db"}


def test_the_path_of_a_database_is_enough(
    run_command: Commands, own_schema: SchemaInfo, replay: bytes, blocks: Blocks, digest: str
) -> None:
    line = ("load_blocks", own_schema.name, "my.cdb", "--heights", blocks[30].index)
    run_command(*line, input=replay).fine()
    printed = figures(run_command("load_blocks", "my.cdb", input=replay).fine().err)
    assert printed["blocks"] == str(len(blocks) - 30)
    assert printed["digest"] == digest


def test_as_json(run_command: Commands, replay: bytes, blocks: Blocks, digest: str) -> None:
    result = run_command("load_blocks", "memory", "--json", input=replay).fine()
    told = json.loads(result.out)
    assert result.err == ""
    assert (told["blocks"], told["coins"], told["digest"]) == (len(blocks), 2_000, digest)
    assert told["coins_per_second"] == pytest.approx(2_000 / told["seconds"])
    again = json.loads(run_command("load_blocks", "memory", "--json", input=replay).fine().out)
    assert (again["blocks"], again["coins_per_second"], again["digest"]) == (0, None, None)
    assert again["newest_index"] == blocks[-1].index


def test_quiet(run_command: Commands, replay: bytes) -> None:
    result = run_command("load_blocks", "memory", "--quiet", input=replay).fine()
    assert (result.out, result.err) == (b"", "")
    error = run_command("load_blocks", "memory", "-q", input=b"nonsense\n").error()
    assert error.startswith("line 1: ")


def test_null_measures_and_keeps_nothing(run_command: Commands, replay: bytes) -> None:
    printed = figures(run_command("load_blocks", "null", input=replay).fine().err)
    assert (printed["coins"], printed["size"]) == ("2,000", "0 B")
    assert "digest" not in printed
    assert "database" not in printed
    assert contents(run_command.cwd) == {}


def test_no_digest(run_command: Commands, replay: bytes) -> None:
    printed = figures(run_command("load_blocks", "memory", "--no-digest", input=replay).fine().err)
    assert printed["coins"] == "2,000"
    assert not printed.keys() & {"digest", "digest took"}


@pytest.mark.parametrize("text", [b"", b"\n# nothing\n"])
def test_an_empty_replay_makes_an_empty_database(run_command: Commands, text: bytes) -> None:
    printed = figures(run_command("load_blocks", "sqlite_v3", input=text).fine().err)
    assert printed == {
        "database": "sqlite_v3.cdb",
        "blocks": "0",
        "newest block": "none",
        "note": "nothing was loaded: there is no block to load",
    }
    assert run_command("dump_blocks", "sqlite_v3").fine().out == b""


def test_what_other_writers_write_is_read(
    run_command: Commands, blocks: Blocks, digest: str
) -> None:
    foreign = b"# made elsewhere\r\n\r\n" + b"\r\n".join(
        b"B %d %d %d %d\r\n" % (b.index, b.timestamp, len(b.spends), len(b.confirms))
        + b"".join(b"S %b\r\n" % name.hex().upper().encode() for name in b.spends[::-1])
        + b"".join(
            b"C %b %b %d\r\n"
            % (coin.parent_coin_name.hex().encode(), coin.puzzle_hash.hex().encode(), coin.amount)
            for coin in b.confirms[::-1]
        )
        for b in blocks
    )
    result = run_command("load_blocks", "memory", input=foreign.removesuffix(b"\r\n")).fine()
    assert figures(result.err)["digest"] == digest


@pytest.mark.parametrize("durability", [level.value for level in Durability])
def test_each_durability(
    run_command: Commands, durability: str, replay: bytes, digest: str
) -> None:
    options = ["--durability", durability, "--flush-every", 700]
    result = run_command("load_blocks", "sqlite_v3", *options, input=replay).fine()
    assert figures(result.err)["digest"] == digest


@pytest.mark.parametrize("past", [0, 1])
def test_max_blocks_bounds_the_index(
    run_command: Commands, own_schema: SchemaInfo, past: int, replay: bytes, blocks: Blocks
) -> None:
    limit = blocks[20].index + past
    below = [block for block in blocks if block.index < limit]
    assert len(below) == 20 + past
    options = ["--db", "db", "--max-blocks", limit, "--no-digest"]
    run_command("load_blocks", own_schema.name, *options, input=replay).fine()
    with own_schema.open(run_command.cwd / "db", read_only=True) as database:
        assert list(database.blocks()) == below


def test_max_blocks_0_loads_nothing(run_command: Commands, replay: bytes) -> None:
    result = run_command("load_blocks", "memory", "--max-blocks", 0, input=replay).fine()
    printed = figures(result.err)
    assert (printed["blocks"], printed["newest block"]) == ("0", "none")


def test_max_blocks_needs_no_valid_text_beyond(run_command: Commands, blocks: Blocks) -> None:
    text = text_of(blocks[:5]) + b"B %d 1 99 99\nno more\n" % blocks[5].index
    result = run_command("load_blocks", "memory", f"--max-blocks={blocks[5].index}", input=text)
    assert figures(result.fine().err)["digest"] == digest_of(blocks[:5])


# Going on


def test_loading_goes_on_where_the_database_ends(
    run_command: Commands, own_schema: SchemaInfo, replay: bytes, blocks: Blocks, digest: str
) -> None:
    options = ["--db", "db", "--flush-every", 300]
    with own_schema.open(run_command.cwd / "db") as database:
        load_all(database, blocks[:30])
    result = run_command("load_blocks", own_schema.name, *options, input=replay)
    second = figures(result.fine().err)
    assert second["blocks"] == str(len(blocks) - 30)
    assert second["coins"] == f"{sum(len(block.confirms) for block in blocks[30:]):,}"
    assert second["digest"] == digest


def test_loading_again_changes_nothing_and_digests_nothing(
    run_command: Commands, loaded: Callable[[str], Path], replay: bytes, blocks: Blocks
) -> None:
    path = loaded("memory")
    before = path.read_bytes()
    printed = figures(run_command("load_blocks", "memory", "--db", path, input=replay).fine().err)
    assert printed == {
        "database": str(path),
        "blocks": "0",
        "newest block": str(blocks[-1].index),
        "note": "nothing was loaded, because all is there already; cdb verify gives the digest",
    }
    assert path.read_bytes() == before


def test_each_stage_of_a_growing_replay(run_command: Commands, blocks: Blocks) -> None:
    for end in (10, 11, 40, 25, len(blocks)):
        text = text_of(blocks[:end])
        run_command("load_blocks", "sqlite_v3", "--no-digest", input=text).fine()
        expected = max(end, 40) if end == 25 else end
        assert newest(find_schema("sqlite_v3"), run_command.cwd / "sqlite_v3.cdb") == (
            blocks[expected - 1].index
        )


# Ending early


class FedLoad:
    """A load that is fed through a pipe, and waits there for more."""

    def __init__(self, run_command: Commands, schema: SchemaInfo, *options: object) -> None:
        self.schema = schema
        self.path = run_command.cwd / "db"
        options = ("--db", "db", "--no-digest", *options)
        self.process = run_command.start("load_blocks", schema.name, *options)

    def feed(self, text: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def wait_until_flushed(self, index: int) -> None:
        """Wait until a reader sees this block."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            assert self.process.poll() is None, "it ended"
            try:
                if newest(self.schema, self.path) == index:
                    return
            except DatabaseError:
                pass  # not made yet
            time.sleep(0.02)
        pytest.fail(f"block {index} was never flushed")

    def end(self, number: int) -> tuple[int, str]:
        """Send a signal; the exit code and what was printed to stderr."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=WAIT_SECONDS)
        assert out == b""
        return self.process.returncode, err.decode()


def check_and_go_on(database: Schema, kept: Blocks, blocks: Blocks, digest: str) -> None:
    assert verify(database).digest == digest_of(kept)
    load_all(database, blocks)
    assert summarize(database).digest == digest


def test_ctrl_c_keeps_every_block_that_has_come(
    run_command: Commands, own_schema: SchemaInfo, blocks: Blocks, digest: str
) -> None:
    load = FedLoad(run_command, own_schema, "--flush-every", 1)
    partial = text_of(blocks[40:41])[:-1]
    load.feed(text_of(blocks[:40]) + partial)
    load.wait_until_flushed(blocks[39].index)
    code, err = load.end(signal.SIGINT)
    kept = f"blocks up to {blocks[39].index} are loaded and flushed"
    assert code == 130
    assert err.strip() == f"interrupted; {kept}; the same command goes on from there"
    with own_schema.open(load.path) as database:
        check_and_go_on(database, blocks[:40], blocks, digest)


def test_ctrl_c_flushes_what_was_not_flushed(run_command: Commands) -> None:
    blocks = tuple(mainnet_shaped_blocks(coins=30_000))
    load = FedLoad(run_command, find_schema("sqlite_v3"), "--flush-every", 1_000_000)
    # Of 5.2 MB, four chunks of 1 MiB and a full pipe may still be to do.
    load.feed(text_of(blocks)[:-1])
    code, err = load.end(signal.SIGINT)
    said = re.fullmatch(r"interrupted; blocks up to (\d+) are loaded and flushed; .*\n+", err)
    assert code == 130
    assert said is not None, err
    kept = tuple(block for block in blocks if block.index <= int(said[1]))
    assert len(text_of(kept)) > 500_000
    with find_schema("sqlite_v3").open(load.path) as database:
        check_and_go_on(database, kept, blocks, digest_of(blocks))


def test_ctrl_c_before_the_first_block(run_command: Commands) -> None:
    load = FedLoad(run_command, find_schema("memory"))
    end = time.monotonic() + WAIT_SECONDS
    threads = Path(f"/proc/{load.process.pid}/task")
    while len(list(threads.iterdir())) == 1:  # until another one reads
        assert load.process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    time.sleep(0.05)
    code, err = load.end(signal.SIGINT)
    assert (code, err.strip()) == (130, "interrupted; no database was made")
    assert not load.path.exists()


def test_the_same_command_goes_on_after_ctrl_c(
    run_command: Commands, replay: bytes, blocks: Blocks, digest: str
) -> None:
    load = FedLoad(run_command, find_schema("memory"), "--flush-every", 1)
    load.feed(text_of(blocks[:7]))
    load.wait_until_flushed(blocks[6].index)
    assert load.end(signal.SIGINT)[0] == 130
    printed = run_command("load_blocks", "memory", "--db", "db", input=replay).fine().err
    assert figures(printed)["blocks"] == str(len(blocks) - 7)
    assert figures(printed)["digest"] == digest


def test_sigkill_loses_nothing_that_was_flushed(
    run_command: Commands, own_schema: SchemaInfo, blocks: Blocks, digest: str
) -> None:
    load = FedLoad(run_command, own_schema, "--flush-every", 1)
    load.feed(text_of(blocks[:40]))
    load.wait_until_flushed(blocks[39].index)
    assert load.end(signal.SIGKILL)[0] == -signal.SIGKILL
    with own_schema.open(load.path) as database:
        check_and_go_on(database, blocks[:40], blocks, digest)


def test_sigkill_without_a_flush_leaves_whole_blocks(
    run_command: Commands, own_schema: SchemaInfo, replay: bytes, blocks: Blocks, digest: str
) -> None:
    load = FedLoad(run_command, own_schema, "--flush-every", 100)
    load.feed(replay[:-1])
    assert load.end(signal.SIGKILL)[0] == -signal.SIGKILL
    with own_schema.open(load.path) as database:
        reached = database.last_block_index
        kept = tuple(block for block in blocks if reached is not None and block.index <= reached)
        check_and_go_on(database, kept, blocks, digest)


def test_a_lock_dies_with_its_holder(
    run_command: Commands, own_schema: SchemaInfo, blocks: Blocks
) -> None:
    load = FedLoad(run_command, own_schema, "--flush-every", 1)
    load.feed(text_of(blocks[:2]))
    load.wait_until_flushed(blocks[1].index)
    second = run_command("load_blocks", own_schema.name, "--db", "db", input=text_of(blocks))
    assert "another process" in second.error()
    load.end(signal.SIGKILL)
    run_command("load_blocks", own_schema.name, "--db", "db", input=text_of(blocks)).fine()


# Terminals and pipes


def test_a_terminal_as_input_is_a_usage_error(run_command: Commands) -> None:
    keyboard, terminal = os.openpty()
    try:
        result = run_command("load_blocks", "memory", stdin=terminal)
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert "pipe a replay into this command" in result.usage_error()
    assert contents(run_command.cwd) == {}


def test_a_bar_is_drawn_on_a_terminal(run_command: Commands, replay: bytes, digest: str) -> None:
    run_command.cwd.joinpath("replay.txt").write_bytes(replay)
    code, printed = shown_on_a_terminal(run_command, "load_blocks", "memory", "--input=replay.txt")
    assert code == 0
    assert "memory:" in printed
    assert digest in printed


def test_no_bar_is_drawn_where_it_has_to_be_quiet(run_command: Commands, replay: bytes) -> None:
    run_command.cwd.joinpath("replay.txt").write_bytes(replay)
    line = ("load_blocks", "memory", "--input=replay.txt", "--quiet")
    assert shown_on_a_terminal(run_command, *line) == (0, "")


def test_the_digest_has_a_percentage_also_of_what_was_loaded_before(
    run_command: Commands, replay: bytes, blocks: Blocks
) -> None:
    run_command.cwd.joinpath("replay.txt").write_bytes(replay)
    with MemorySchema(run_command.cwd / "db") as database:
        load_all(database, blocks[:30])
    line = ("load_blocks", "memory", "--db=db", "--input=replay.txt")
    _, printed = shown_on_a_terminal(run_command, *line)
    assert re.search(r"memory digest, or --no-digest: +0%\|.*/2\.00k \[", printed), printed


def test_a_fifo_as_input_with_a_terminal(run_command: Commands, replay: bytes, digest: str) -> None:
    """As in ``load_blocks memory --input <(make_replay …)``."""
    run_command.cwd.joinpath("replay.txt").write_bytes(replay)
    os.mkfifo(run_command.cwd / "fifo")
    run_command.popen(["sh", "-c", "cat replay.txt > fifo"])
    code, printed = shown_on_a_terminal(run_command, "load_blocks", "memory", "--input", "fifo")
    assert code == 0, printed
    assert digest in printed


def test_a_summary_that_nobody_reads_is_no_harm(
    run_command: Commands, replay: bytes, blocks: Blocks
) -> None:
    with Path(os.devnull).open("wb") as nowhere:
        run_command("load_blocks", "memory", "--db", "db", input=replay, stderr=nowhere).fine()
    with MemorySchema(run_command.cwd / "db") as database:
        assert list(database.blocks()) == list(blocks)


def test_a_disk_that_is_full_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, replay: bytes, blocks: Blocks
) -> None:
    """Closing writes, too; what was flushed before is kept all the same, and is said to be."""
    close = MemorySchema.close

    def full(schema: MemorySchema) -> None:
        close(schema)
        raise StorageError(tmp_path, "full")

    monkeypatch.setattr(MemorySchema, "close", full)
    kept = f"full; blocks up to {blocks[-1].index} are loaded and flushed"
    with pytest.raises(LoadStoppedError, match=kept):
        load_stream(find_schema("memory"), tmp_path / "db", BytesIO(replay), LoadOptions())


SMALL = """
from cdb.schemas.memory import MemorySchema

class Small(MemorySchema):
    accept_packed = None

    def accept_block(self, block):
        if block.index > 20:
            raise MemoryError
        super().accept_block(block)
"""


def test_too_little_memory_is_one_line_that_says_what_is_durable(
    run_command: Commands, replay: bytes
) -> None:
    run_command.cwd.joinpath("small.py").write_text(SMALL)
    line = ("load_blocks", "small:Small", "--db", "db", "--flush-every", "1")
    problem = run_command(*line, input=replay).error()
    told = "out of memory; free some, or allow more (ulimit -v); blocks up to "
    assert problem.startswith(told)
    assert problem.endswith(" are loaded and flushed")

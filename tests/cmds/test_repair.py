"""verify finds damage to every kind of file, and --repair mends what is derived, and only that."""

import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from cdb.cmds.dump_blocks import dump_blocks
from cdb.cmds.verify import verify
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.limits import Finding
from cdb.disk.home import Lock
from cdb.errors import CdbError, DatabaseLockedError, WrongDatabaseError
from cdb.schemas import SchemaInfo, find_schema
from cdb.schemas.coin_log import CoinLogSchema
from cdb.stores.coin_log.binding import Sizes
from cdb.testing.base import accept_all
from cdb.testing.faults.subjects import subject_of
from cdb.text.mainnet_shape import mainnet_shaped_blocks
from tests.conftest import (
    PACKAGE_PARENT,
    closed,
    contents,
    copy_at_rest,
    digest_of,
    index_factories,
    ready_schemas,
    stored,
    text_of,
)
from tests.engines import HOLD_SPARE

FINE, BEYOND_REPAIR, USAGE, REPAIRABLE, PARTIAL = 0, 1, 2, 3, 4
PROMISE = re.compile(
    r"; ([\d,]+) blocks up to (\d+) can be read, and '(cdb dump_blocks .*)' writes them; "
)

# What holds the coins and blocks; the rest can be made from it.
TRUTH = re.compile(r"db|db/coins\.sqlite.*|db/log|db/data|db/db/.*")
# Files whose loss costs nothing but time, or which a database does without.
SPARE = re.compile(r".*/(IDENTITY|OPTIONS-\d+|\d+\.log|lock\.mdb|readers)|db/derived/manifest")
# Whatever acked says, the database is found to be whole or not.
WITNESS = re.compile(r"db/acked")
INDEXED = sorted(index_factories())

KILLED_REPAIR = """
import os, signal, sys
from pathlib import Path
from cdb.stores.rows import opening
from cdb.schemas import find_schema

opening.MEMTABLE_COINS = 100
calls = []

def progress(coins):
    calls.append(coins)
    if len(calls) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

schema, path = find_schema(sys.argv[1]).spec, Path(sys.argv[2])
schema.repair(path, list(schema.check(path, lambda coins: None)), progress)
"""

Loaded = Callable[[str], Path]


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the check of an index: row 7 is the last of one, and row 8 the first of the next."""
    monkeypatch.setattr("cdb.stores.rows.check.CHECKED_NAMES", 7)


@pytest.fixture(scope="module")
def chain() -> tuple[BlockSpendInfo, ...]:
    return tuple(mainnet_shaped_blocks(coins=600))


@pytest.fixture(scope="module")
def chain_digest(chain: tuple[BlockSpendInfo, ...]) -> str:
    return digest_of(chain)


@pytest.fixture(scope="module")
def originals(
    tmp_path_factory: pytest.TempPathFactory, chain: tuple[BlockSpendInfo, ...]
) -> Loaded:
    """Closed databases with derived files of every kind, in a directory of their own."""
    made: dict[str, Path] = {}

    def make(schema: str) -> Path:
        if schema not in made:
            made[schema] = tmp_path_factory.mktemp(schema)
            open_it = find_schema(schema).open
            if schema == "coin_log":
                open_it = partial(CoinLogSchema, sizes=Sizes(memtable_coins=200))
            for part in (chain[: len(chain) // 2], chain[len(chain) // 2 :]):
                with open_it(made[schema] / "db") as database:
                    accept_all(database, part)
        return made[schema]

    return make


@pytest.fixture
def db(originals: Loaded, own_schema: SchemaInfo, tmp_path: Path) -> Path:
    """A copy of a loaded database."""
    shutil.copytree(originals(own_schema.name), tmp_path, dirs_exist_ok=True)
    return tmp_path / "db"


def run(schema: str, path: Path, *options: str) -> tuple[int, str]:
    """The exit code of `cdb verify`, and all that it prints."""
    arguments = [schema, "--db", str(path), *options]
    result = CliRunner().invoke(verify, arguments, standalone_mode=False)
    if isinstance(result.exception, CdbError):
        return BEYOND_REPAIR, f"{result.output}error: {result.exception}\n"
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.output


def keeps_its_word(schema: str, out: str, chain: Sequence[BlockSpendInfo]) -> int:
    """Type what `cdb verify` says of damage beyond repair: it gives the blocks that are promised,
    in a file and on standard output. How many they are.
    """
    promise = PROMISE.search(out)
    if promise is None:
        assert "can be read" not in out.replace("; no block can be read; ", "")
        return 0
    n_blocks = int(promise[1].replace(",", ""))
    assert chain[n_blocks - 1].index == int(promise[2])
    line = shlex.split(promise[3])[2:]
    assert line[0] == find_schema(schema).name
    end, code = "", FINE
    if n_blocks < len(chain):
        end, code = (
            f"; the {promise[1]} blocks up to {promise[2]}, before that, are written\n",
            PARTIAL,
        )
    database = Path(line[line.index("--db") + 1])
    file = database.with_name("it's what was saved.txt")
    for words in (line[: line.index("--output")], [str(file) if w == "FILE" else w for w in line]):
        result = CliRunner().invoke(dump_blocks, words, standalone_mode=False)
        assert (result.return_value, result.exception) == (code, None)
        assert result.stderr.endswith(end)
        assert result.stderr.count("\n") == (1 if end else 0)
        written = (
            result.stdout_bytes if file not in database.parent.iterdir() else file.read_bytes()
        )
        assert written == text_of(chain[:n_blocks])
    file.unlink()
    return n_blocks


def damages(data: bytes, *, has_room: bool) -> Iterator[tuple[str, bytes | None]]:
    """Ways to damage a file's contents; None removes it. has_room: zeros at its end are room for
    more, and are left as they are."""
    n_bytes = len(data.rstrip(b"\0") if has_room else data) or len(data)
    for hundredths in (30, 35, 40, 50, 60) if has_room else (30, 40, 50, 60):
        place = n_bytes * hundredths // 100
        changed = bytearray(data)
        changed[place] ^= 0x10
        yield f"bit at {place}", bytes(changed)
    yield "truncated", data[: n_bytes // 2]
    sector = n_bytes // 2 // 512 * 512
    yield f"zeros at {sector}", data[:sector] + bytes(512) + data[sector + 512 :]
    yield "removed", None


def expected_codes(file: str, what: str, schema: str) -> set[int]:
    holds_spare = schema in HOLD_SPARE
    if SPARE.fullmatch(file) and (file != "db/derived/manifest" or what == "removed"):
        return {FINE, BEYOND_REPAIR} if holds_spare else {FINE}
    if WITNESS.fullmatch(file):
        return {REPAIRABLE} if what == "removed" else {FINE, BEYOND_REPAIR, REPAIRABLE}
    if file == "db/offsets":  # where a crash has left it short, data says the rest
        return {REPAIRABLE} if what == "removed" else {FINE, REPAIRABLE}
    found = {BEYOND_REPAIR} if TRUTH.fullmatch(file) else {REPAIRABLE}
    if file == "db/FORMAT" and what != "removed":
        return {BEYOND_REPAIR, REPAIRABLE}  # it may read like another schema's now
    is_checksummed = re.fullmatch(find_schema(schema).spec.checksummed, file)
    certain = (what in ("truncated", "removed") and not holds_spare) or is_checksummed
    return found if certain else found | {FINE}


def named(file: str, out: str, *, or_another: bool) -> bool:
    """Whether a file is named, or the directory of an engine's, which names files as it likes.
    or_another: or another file in that directory."""
    # Where a table's properties are damaged RocksDB takes them for the manifest's.
    ends = (": ", "/") if or_another or "properties unsorted in file" in out else (": ",)
    return file in out or any(
        directory + end in out
        for directory in ("db/index", "db/db")
        if file.startswith(directory)
        for end in ends
    )


def is_known_to_mislead(schema: str, file: str) -> bool:
    """Whether damage to a file may be served where verify, too, sees nothing of it."""
    finding = Finding("unseen", file=file)
    return any(limit.explains("zero", finding) for limit in subject_of(schema).limits)


def test_damage_to_every_file(
    originals: Loaded,
    own_schema: SchemaInfo,
    tmp_path: Path,
    chain: tuple[BlockSpendInfo, ...],
    chain_digest: str,
) -> None:
    schema, source = own_schema.name, originals(own_schema.name)
    is_asked_for = own_schema.spec.is_asked_for
    files = {name: data for name, data in contents(source).items() if data}
    counts = dict.fromkeys((FINE, BEYOND_REPAIR, REPAIRABLE, PARTIAL), 0)
    for file, data in files.items():
        for what, changed in damages(data, has_room=is_asked_for):
            if changed == data:
                continue
            case, root = (file, what), tmp_path / "case"
            shutil.rmtree(root, ignore_errors=True)
            shutil.copytree(source, root)
            if changed is None:
                (root / file).unlink()
            else:
                (root / file).write_bytes(changed)
            before = closed(root)

            code, out = run(schema, root / "db")
            assert closed(root) == before, case
            assert code in expected_codes(file, what, schema), (case, out)
            assert (code == FINE) == (chain_digest in out), (case, out)
            counts[code] += 1
            if code == FINE:
                continue
            is_named = named(file, out, or_another=is_asked_for)
            assert is_named or file == "db/FORMAT", (case, out)

            code_then, out_then = run(schema, root / "db", "--repair")
            after = closed(root)
            if code == REPAIRABLE:
                assert code_then == FINE, (case, out_then)
                assert f"repaired  {root}" in out_then, (case, out_then)
                assert chain_digest in out_then, (case, out_then)
                after = {name: text for name, text in after.items() if TRUTH.fullmatch(name)}
                before = {name: text for name, text in before.items() if TRUTH.fullmatch(name)}
            else:
                assert code_then == BEYOND_REPAIR, (case, out_then)
                try:
                    n_blocks = keeps_its_word(schema, out, chain)
                except AssertionError:
                    if not is_known_to_mislead(schema, file):
                        raise
                    n_blocks = 0
                counts[PARTIAL] += 0 < n_blocks < len(chain)
            assert after == before, case
    assert counts[BEYOND_REPAIR]
    # One checksum says what memory's file holds; SQLite reads blockchain_v2's blocks all or not.
    assert counts[PARTIAL] or schema in ("memory", "blockchain_v2")
    assert counts[REPAIRABLE] or schema in ("memory", "blockchain_v2")


def test_what_is_called_repairable_with_its_format_lost_is_repaired(
    originals: Loaded, own_schema: SchemaInfo, tmp_path: Path, chain_digest: str
) -> None:
    """Each file beside FORMAT; by both names of a schema that makes databases with keys, too."""
    n_repaired = 0
    for schema in {own_schema.name, own_schema.indexed or own_schema.name}:
        source = originals(schema)
        if not (source / "db").is_dir():
            pytest.skip("its format is in its file")
        for file in (name for name, data in contents(source).items() if data):
            root = tmp_path / "case"
            shutil.rmtree(root, ignore_errors=True)
            shutil.copytree(source, root)
            (root / "db" / "FORMAT").unlink()
            (root / file).unlink(missing_ok=True)
            code, out = run(schema, root / "db")
            if code == REPAIRABLE:
                n_repaired += 1
                code, out = run(schema, root / "db", "--repair")
                assert (code, chain_digest in out) == (FINE, True), (schema, file, out)
            else:
                assert "--repair" not in out, (schema, file, out)
    assert n_repaired


def test_repairing_what_is_sound_changes_nothing(
    db: Path, own_schema: SchemaInfo, chain_digest: str
) -> None:
    before = closed(db.parent)
    code, out = run(own_schema.name, db, "--repair")
    assert code == FINE
    assert chain_digest in out
    assert "repaired" not in out
    assert closed(db.parent) == before


def test_what_a_crash_leaves_is_no_damage(
    own_schema: SchemaInfo, tmp_path: Path, chain: tuple[BlockSpendInfo, ...], chain_digest: str
) -> None:
    """A copy of the files of a database that is open, as a crash would leave them.

    SQLite's -shm is memory that its readers share, not data.
    """
    (tmp_path / "open").mkdir()
    with own_schema.open(tmp_path / "open" / "db") as database:
        accept_all(database, chain)
        database.flush()
        copy_at_rest(tmp_path / "open", tmp_path / "crashed")
    before = stored(tmp_path / "crashed")
    for options in ((), ("--repair",)):
        code, out = run(own_schema.name, tmp_path / "crashed" / "db", *options)
        assert code == FINE, out
        assert chain_digest in out
        assert stored(tmp_path / "crashed") == before


@pytest.mark.parametrize("schema", INDEXED)
def test_a_repair_after_a_crash_leaves_the_log_of_sqlite_alone(
    schema: str, tmp_path: Path, chain: tuple[BlockSpendInfo, ...], chain_digest: str
) -> None:
    (tmp_path / "open").mkdir()
    with find_schema(schema).open(tmp_path / "open" / "db") as database:
        accept_all(database, chain)
        database.flush()
        copy_at_rest(tmp_path / "open", tmp_path / "crashed")
    shutil.rmtree(tmp_path / "crashed" / "db" / "index")
    rows = [tmp_path / "crashed" / "db" / f"coins.sqlite{suffix}" for suffix in ("", "-wal")]
    before = [file.read_bytes() for file in rows]
    code, out = run(schema, tmp_path / "crashed" / "db", "--repair")
    assert code == FINE, out
    assert chain_digest in out
    assert [file.read_bytes() for file in rows] == before


@pytest.mark.parametrize("schema", INDEXED)
@pytest.mark.parametrize("calls", [1, 3, 6])
def test_a_repair_that_is_killed_can_be_repaired(
    originals: Loaded, schema: str, calls: int, tmp_path: Path, chain_digest: str
) -> None:
    shutil.copytree(originals(schema), tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "db" / "index")
    truth = (tmp_path / "db" / "coins.sqlite").read_bytes()
    command = [sys.executable, "-c", KILLED_REPAIR, schema, str(tmp_path / "db"), str(calls)]
    killed = subprocess.run(command, cwd=PACKAGE_PARENT, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    code, out = run(schema, tmp_path / "db")
    assert code in (FINE, REPAIRABLE), out
    code, out = run(schema, tmp_path / "db", "--repair")
    assert code == FINE, out
    assert chain_digest in out
    assert (tmp_path / "db" / "coins.sqlite").read_bytes() == truth


def test_beside_a_writer(db: Path, own_schema: SchemaInfo, chain_digest: str) -> None:
    with own_schema.open(db):
        code, out = run(own_schema.name, db)
        assert code == FINE
        assert chain_digest in out
        if own_schema.spec.repair is not None:
            assert f"note: {db} is being written to" in out
            code, out = run(own_schema.name, db, "--repair")
            assert code == BEYOND_REPAIR
            assert f"error: {db}: another process" in out


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE coin SET confirmed_index = 3 WHERE id = 9", "coin row 9 of block"),
        ("UPDATE spend SET spent_index = 9999", "which says 9999"),
        ("INSERT OR IGNORE INTO spend SELECT id, 57 FROM coin", "coins say that they are spent"),
        ("DELETE FROM block WHERE block_index = 57", "its blocks at row"),
        ("DELETE FROM coin WHERE id = 30", "fails its checksum"),
        ("DELETE FROM block WHERE block_index = 30", "begins at row"),
        ("UPDATE block SET n_confirms = 'x' WHERE block_index = 30", "values of other types"),
        ("UPDATE spend SET spent_index = 'x'", "spent by block 'x'"),
        (
            "PRAGMA writable_schema = ON;"
            "UPDATE sqlite_master SET name = CAST(x'ff' AS TEXT), sql = 'CREATE'",
            "SQLite found damage",
        ),
    ],
)
def test_rows_that_contradict_each_other(
    originals: Loaded, tmp_path: Path, change: str, problem: str
) -> None:
    """Each is found in the rows themselves, so that no index is blamed for it."""
    shutil.copytree(originals("flat_file"), tmp_path, dirs_exist_ok=True)
    connection = sqlite3.connect(tmp_path / "db" / "coins.sqlite")
    connection.executescript(change)
    connection.close()
    code, out = run("flat_file", tmp_path / "db")
    assert code == BEYOND_REPAIR
    assert f"damaged  {tmp_path}/db/coins.sqlite: " in out
    assert problem in out
    assert "--repair" not in out


def test_an_index_that_is_ahead_of_the_rows(
    originals: Loaded, tmp_path: Path, chain: tuple[BlockSpendInfo, ...]
) -> None:
    """Its rows were lost: the index is rebuilt, and says so."""
    shutil.copytree(originals("sqlite_v3"), tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "db" / "index")
    shutil.copytree(originals("sqlite_v3") / "db" / "index", tmp_path / "newer")
    with find_schema("sqlite_v3").open(tmp_path / "db") as database:
        database.rewind_to_block_index(chain[-2].index)
    shutil.rmtree(tmp_path / "db" / "index")
    (tmp_path / "newer").rename(tmp_path / "db" / "index")
    code, out = run("sqlite_v3", tmp_path / "db")
    assert code == REPAIRABLE
    assert "the newest commits were lost" in out
    code, out = run("sqlite_v3", tmp_path / "db", "--repair")
    assert code == FINE
    assert digest_of(chain[:-1]) in out


def test_pages_that_only_a_merge_would_read(tmp_path: Path) -> None:
    """After a rewind most of a run is out of sight, and damage there would end a later load."""
    with find_schema("flat_file").open(tmp_path / "db") as database:
        accept_all(database, mainnet_shaped_blocks(coins=3_000))
    with find_schema("flat_file").open(tmp_path / "db") as database:
        first = next(iter(database.blocks()))
        database.rewind_to_block_index(first.index)
    (run_file,) = (tmp_path / "db" / "index").glob("run-*")
    data = run_file.read_bytes()
    pages = {at: data[at : at + 4096] for at in range(4096, len(data) - 4095, 4096)}
    names = [coin.name() for coin in first.confirms]
    at = next(at for at, page in pages.items() if not any(map(page.count, names)))
    run_file.write_bytes(data[: at + 100] + bytes(100) + data[at + 200 :])
    code, out = run("flat_file", tmp_path / "db")
    assert code == REPAIRABLE
    assert f"{run_file}: page {at // 4096 - 1} is damaged" in out


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE covered SET last_name = zeroblob(32)", "its watermark does not fit row"),
        ("INSERT INTO coin_lookup VALUES (zeroblob(32), 7)", "it holds 601 names"),
        ("UPDATE coin_lookup SET id = 8 WHERE id = 7", "which is row 7, at row 8"),
        ("UPDATE coin_lookup SET id = 7 WHERE id = 8", "which is row 8, at row 7"),
        ("DROP TABLE coin_lookup", "not the tables that belong here"),
        ("UPDATE covered SET rows = 'x'", "the watermark has values of other types"),
    ],
)
def test_an_index_that_contradicts_the_rows(
    originals: Loaded, tmp_path: Path, change: str, problem: str
) -> None:
    shutil.copytree(originals("sqlite_v3"), tmp_path, dirs_exist_ok=True)
    connection = sqlite3.connect(tmp_path / "db" / "index" / "lookup.sqlite")
    with connection:
        connection.execute(change)
    connection.close()
    code, out = run("sqlite_v3", tmp_path / "db")
    assert code == REPAIRABLE
    assert problem in out


def test_a_list_of_free_pages_that_only_a_write_would_read(
    originals: Loaded, tmp_path: Path
) -> None:
    shutil.copytree(originals("sqlite_v3"), tmp_path, dirs_exist_ok=True)
    with (tmp_path / "db" / "index" / "lookup.sqlite").open("r+b") as file:
        file.seek(36)  # their count
        file.write(b"\0\0\0\1")
    code, out = run("sqlite_v3", tmp_path / "db")
    assert code == REPAIRABLE
    assert "freelist" in out


def test_how_far_a_damaged_log_reaches(originals: Loaded, tmp_path: Path) -> None:
    shutil.copytree(originals("coin_log"), tmp_path, dirs_exist_ok=True)
    log, run_file = tmp_path / "db" / "log", next((tmp_path / "db" / "derived").glob("run-*"))
    for file, place in ((log, 20_000), (run_file, 40)):
        data = bytearray(file.read_bytes())
        data[place] ^= 1
        file.write_bytes(data)
    code, out = run("coin_log", tmp_path / "db")
    assert code == BEYOND_REPAIR
    assert f"damaged  {run_file}: " in out
    offset, newest = damaged_record(originals("coin_log") / "db" / "log", 20_000)
    where = f"damaged at byte {offset}, behind block {newest}; no repair"
    assert re.search(rf"damaged  {log}: .*{where}", out)


def test_all_derived_files_that_are_damaged_are_named(
    originals: Loaded, tmp_path: Path, chain_digest: str
) -> None:
    shutil.copytree(originals("coin_log"), tmp_path, dirs_exist_ok=True)
    path = tmp_path / "db"
    gone, *runs = sorted((path / "derived").glob("run-*"))
    changed = [*runs, *path.glob("derived/history-*"), *path.glob("derived/base-*"), path / "acked"]
    for file in changed:
        data = bytearray(file.read_bytes())
        data[len(data) // 3] ^= 1
        file.write_bytes(data)
    gone.unlink()
    code, out = run("coin_log", path)
    assert code == REPAIRABLE
    assert runs, "more than one is damaged"
    assert out.count("--repair rebuilds it from log") == len(changed) + 1
    for file in changed:
        assert f"damaged  {file}: damaged; --repair" in out
    assert f"damaged  {gone}: it is missing; --repair" in out
    code, out = run("coin_log", path, "--repair")
    assert code == FINE
    assert chain_digest in out


@pytest.mark.parametrize(("place", "damaged_at"), [(9, 0), (40, 24)])
def test_a_log_that_is_damaged_where_it_begins(
    originals: Loaded, tmp_path: Path, place: int, damaged_at: int
) -> None:
    shutil.copytree(originals("coin_log"), tmp_path, dirs_exist_ok=True)
    log = bytearray((tmp_path / "db" / "log").read_bytes())
    log[place] ^= 1
    (tmp_path / "db" / "log").write_bytes(log)
    code, out = run("coin_log", tmp_path / "db")
    assert code == BEYOND_REPAIR
    assert f"damaged at byte {damaged_at}, before the first block; no repair" in out


def damaged_record(log: Path, place: int) -> tuple[int, int]:
    """Where the record of a log begins that has a byte, and the index of the block before it."""
    data = log.read_bytes()
    offset, newest = 24, -1  # behind its head
    while (end := offset + int.from_bytes(data[offset + 12 : offset + 16], "little")) <= place:
        newest = int.from_bytes(data[offset + 28 : offset + 32], "little")
        offset = end
    return offset, newest


def crashed(path: Path, blocks: Sequence[BlockSpendInfo]) -> Path:
    """What a crash leaves of a coin_log that is small: derived files cover nothing of it."""
    with find_schema("coin_log").open(path) as database:
        accept_all(database, blocks)
        database.flush()
        left = path.with_name("left")
        copy_at_rest(path, left)
    return left


@pytest.mark.parametrize("is_run_damaged", [False, True])
@pytest.mark.parametrize("is_crashed", [False, True])
def test_the_blocks_before_the_damage_are_counted_and_dumped(
    originals: Loaded,
    tmp_path: Path,
    chain: tuple[BlockSpendInfo, ...],
    *,
    is_crashed: bool,
    is_run_damaged: bool,
) -> None:
    if is_crashed:
        path = crashed(tmp_path / "db", chain)
    else:
        shutil.copytree(originals("coin_log"), tmp_path, dirs_exist_ok=True)
        path = tmp_path / "db"
    log = bytearray((path / "log").read_bytes())
    log[len(log.rstrip(b"\0")) * 6 // 10] ^= 1
    (path / "log").write_bytes(log)
    for file in path.glob("derived/run-*") if is_run_damaged else ():
        file.write_bytes(file.read_bytes()[:-1])

    code, out = run("coin_log", path)
    assert code == BEYOND_REPAIR
    assert len(chain) // 3 < keeps_its_word("coin_log", out, chain) < len(chain)


def test_a_schema_that_cannot_check_files(
    originals: Loaded, tmp_path: Path, chain: tuple[BlockSpendInfo, ...]
) -> None:
    """The first damage, and how far it can be read all the same."""
    shutil.copytree(originals("flat_file"), tmp_path, dirs_exist_ok=True)
    connection = sqlite3.connect(tmp_path / "db" / "coins.sqlite")
    with connection:
        connection.execute("UPDATE block SET checksum = checksum + 1 WHERE block_index = 30")
    connection.close()
    code, out = run("flat_file:SMALL", tmp_path / "db", "--repair")
    assert code == BEYOND_REPAIR
    assert "coins.sqlite: block 30 fails its checksum; no repair" in out
    assert keeps_its_word("flat_file:SMALL", out, chain) == 12


def test_nothing_is_repaired_where_not_all_can_be(originals: Loaded, tmp_path: Path) -> None:
    shutil.copytree(originals("flat_file"), tmp_path, dirs_exist_ok=True)
    (tmp_path / "db" / "FORMAT").write_text("cdb\n")
    (tmp_path / "db" / "coins.sqlite").write_bytes(b"no longer")
    before = contents(tmp_path)
    code, out = run("flat_file", tmp_path / "db", "--repair")
    assert code == BEYOND_REPAIR
    assert f"damaged  {tmp_path}/db/FORMAT: " in out
    assert f"damaged  {tmp_path}/db/coins.sqlite: " in out
    assert contents(tmp_path) == before


def test_the_exit_code_of_the_process(originals: Loaded, tmp_path: Path) -> None:
    shutil.copytree(originals("flat_file"), tmp_path, dirs_exist_ok=True)
    (tmp_path / "db" / "index" / "manifest").unlink()
    for command in ("main verify", "verify"):
        module, *words = command.split()
        line = [sys.executable, "-m", f"cdb.cmds.{module}", *words, "flat_file", "--db", "db"]
        result = subprocess.run(
            line, cwd=tmp_path, env={"PYTHONPATH": str(PACKAGE_PARENT)}, capture_output=True
        )
        assert result.returncode == REPAIRABLE
        damaged = tmp_path / "db" / "index" / "manifest"
        assert result.stdout.decode().startswith(f"damaged  {damaged}: ")
        assert result.stderr == b"error: db: damaged; --repair mends all of it\n"


def test_two_databases_of_which_one_is_damaged(
    originals: Loaded, tmp_path: Path, chain_digest: str
) -> None:
    for schema in ("memory", "flat_file"):
        shutil.copytree(originals(schema), tmp_path / schema)
    (tmp_path / "flat_file" / "db" / "FORMAT").write_text("cdb\n")
    second = ("--against", "flat_file", "--db2", str(tmp_path / "flat_file" / "db"))
    code, out = run("memory", tmp_path / "memory" / "db", *second)
    assert code == REPAIRABLE
    assert chain_digest in out
    assert "hold the same" not in out


def test_repair_takes_one_database() -> None:
    arguments = ["memory", "--repair", "--against", "memory"]
    result = CliRunner().invoke(verify, arguments)
    assert result.exit_code == USAGE
    assert "leave out --against" in result.output


@pytest.mark.parametrize(
    "schema", sorted({"flat_file", "coin_log", "rocks_kv"} & {*ready_schemas()})
)
def test_a_repair_writes_nothing_before_it_has_the_lock(
    originals: Loaded, tmp_path: Path, schema: str
) -> None:
    """Nor where another repair, or another database, came between the look at it and the lock."""
    info, path = find_schema(schema), tmp_path / "db"
    shutil.copytree(originals(schema), tmp_path, dirs_exist_ok=True)
    (path / "FORMAT").unlink()
    assert info.spec.check is not None
    assert info.spec.repair is not None
    damages = list(info.spec.check(path, lambda coins: None))
    before = contents(path)
    lock = Lock(path / "LOCK", path)
    with pytest.raises(DatabaseLockedError):
        info.spec.repair(path, damages, lambda coins: None)
    lock.release()
    assert contents(path) == before
    (path / "FORMAT").write_text("cdb somebodys_own 1\n")
    before = contents(path)
    with pytest.raises(WrongDatabaseError, match="somebodys_own"):
        info.spec.repair(path, damages, lambda coins: None)
    assert contents(path) == before

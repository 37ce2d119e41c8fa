"""Two database directories change places while one of them is used, before each call of the system.

Neither gets a byte of the other, and what was used is whole, wherever it is then.
"""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from cdb.contract.blocks import canonical
from cdb.disk.damage import Damage
from cdb.errors import DatabaseError, WrongDatabaseError
from cdb.schemas import SchemaInfo, find_schema
from cdb.testing.base import accept_all
from cdb.testing.chains import sample_chain
from cdb.testing.side_by_side import settle
from tests.conftest import ROWS_WITH_INDEX, contents, own_schemas
from tests.engines import OTHER

BLOCKS = list(map(canonical, sample_chain().blocks))
HALF = len(BLOCKS) // 2
FILES = ("blockchain_v2", "memory")
LOG = "coin_log"
ANOTHER = (LOG, ROWS_WITH_INDEX)
_CALLS = ("open", "os.", "fcntl.", "sqlite3.connect", "shutil.")

_before_call: Callable[[], None] | None = None


def _audited(event: str, arguments: tuple[object, ...]) -> None:
    if _before_call is not None and event.startswith(_CALLS):
        _before_call()


sys.addaudithook(_audited)  # which stays for as long as the process does


@contextmanager
def before_call(n: int, act: Callable[[], None]) -> Iterator[list[int]]:
    """Act once, before the n-th call that Python makes of the system; gives how many there were."""
    global _before_call
    made = [0]

    def step() -> None:
        global _before_call
        made[0] += 1
        if made[0] == n:
            _before_call = None
            act()
            _before_call = step

    _before_call = step
    try:
        yield made
    finally:
        _before_call = None


def directories() -> list[object]:
    """The schemas whose databases are directories."""
    return [each for each in own_schemas() if each.values[0] not in FILES]


@pytest.fixture(scope="module", params=directories())
def schema(request: pytest.FixtureRequest) -> SchemaInfo:
    """Each schema whose database is a directory."""
    return find_schema(request.param)


def make(schema: SchemaInfo, path: Path, n: int) -> None:
    with schema.open(path) as database:
        accept_all(database, BLOCKS[:n])


def write(schema: SchemaInfo, path: Path) -> None:
    """All that a writer does."""
    with schema.open(path, durability=schema.spec.durabilities[-1]) as database:
        newest = -1 if database.last_block_index is None else database.last_block_index
        accept_all(database, [block for block in BLOCKS if block.index > newest])
        database.flush()
        settle(database)
        database.rewind_to_block_index(BLOCKS[-2].index)


def read(schema: SchemaInfo, path: Path) -> None:
    with schema.open(path, read_only=True) as database:
        newest = database.last_block_index
        indices = [block.index for block in database.blocks()]
        assert indices[-1] == newest
        assert newest in (BLOCKS[2].index, BLOCKS[HALF - 1].index)


def no_progress(coins: int) -> None:
    """Show nothing."""


def check_whole(schema: SchemaInfo, path: Path) -> None:
    with schema.open(path) as database:
        found = list(database.blocks())
    assert found == BLOCKS[: len(found)]
    assert schema.spec.check is not None
    assert list(schema.spec.check(path, no_progress)) == []


def error_of(use: Callable[[SchemaInfo, Path], None], schema: SchemaInfo, path: Path) -> str:
    """What is said of a use; nothing where it succeeds."""
    try:
        use(schema, path)
    except DatabaseError as error:
        return str(error)
    return ""


def exchange(ours: Path, theirs: Path) -> None:
    """Let each come to the other's place, if it is there."""
    aside = ours.with_name("aside")
    if ours.exists():
        ours.rename(aside)
    theirs.rename(ours)
    if aside.exists():
        aside.rename(theirs)


@pytest.mark.parametrize(("beside", "step"), [("its own", 1), ("another", 3)])
@pytest.mark.parametrize(("use", "is_new"), [(write, True), (write, False), (read, False)])
def test_directories_that_change_places(
    schema: SchemaInfo,
    tmp_path: Path,
    beside: str,
    step: int,
    use: Callable[[SchemaInfo, Path], None],
    *,
    is_new: bool,
) -> None:
    other_schema = schema if beside == "its own" else find_schema(ANOTHER[schema.name == LOG])
    kept = tmp_path / "kept"
    kept.mkdir()
    if not is_new:
        make(schema, kept / "ours", HALF)
    make(other_schema, kept / "theirs", 3)
    of_ours, of_theirs = contents(kept / "ours"), contents(kept / "theirs")
    for n in count(1, step):
        shutil.copytree(kept, tmp_path / "used")
        ours, theirs = tmp_path / "used" / "ours", tmp_path / "used" / "theirs"
        with before_call(n, partial(exchange, ours, theirs)) as made:
            told = error_of(use, schema, ours)
        if made[0] < n:
            break
        assert not told or told.startswith(str(ours))
        assert "\n" not in told
        assert "/proc/" not in told
        if contents(ours) != of_theirs:
            # The path led to the other one from the first, and that was used.
            assert other_schema is schema
            assert contents(theirs) == of_ours
            check_whole(schema, ours)
        elif (theirs / "FORMAT").exists():
            check_whole(schema, theirs)
        shutil.rmtree(tmp_path / "used")
    assert n > 8


def look(schema: SchemaInfo, path: Path) -> None:
    assert list(schema.check(path, no_progress)) == []


def mend(schema: SchemaInfo, path: Path) -> None:
    schema.repair(path, DAMAGES[path], no_progress)


DAMAGES: dict[Path, list[Damage]] = {}
"""What was found of a database before it is repaired."""


def damage(path: Path) -> None:
    """Damage what can be made again: an index, what a log and what a coin set has promised."""
    for file in [*(path / "index").glob("*"), path / "acked", path / "NEWEST"]:
        if file.is_file():
            file.write_bytes(file.read_bytes()[:20])


def kept_contents(path: Path) -> dict[str, bytes | None]:
    """Without what SQLite may make beside a file of the same name: see docs/durability.md."""
    return {
        name: data
        for name, data in contents(path).items()
        if not name.endswith(("-wal", "-shm", ".lck"))
    }


@pytest.mark.parametrize("use", [look, mend])
def test_nobody_looks_at_or_mends_a_database_that_comes_meanwhile(
    schema: SchemaInfo, tmp_path: Path, use: Callable[[SchemaInfo, Path], None]
) -> None:
    """It has a writer all the time."""
    kept, used = tmp_path / "kept", tmp_path / "used"
    make(schema, kept, HALF)
    if use is mend:
        damage(kept)
    for n in count(1):
        ours, theirs = used / "ours", used / "theirs"
        shutil.copytree(kept, ours)
        DAMAGES[ours] = list(schema.check(ours, no_progress))
        assert bool(DAMAGES[ours]) == (use is mend)
        with schema.open(theirs) as writer:
            accept_all(writer, BLOCKS[:3])
            before = kept_contents(theirs)
            with before_call(n, partial(exchange, ours, theirs)) as made:
                told = error_of(use, schema, ours)
            if made[0] >= n:
                assert kept_contents(ours) == before
                exchange(ours, theirs)
            assert "\n" not in told
            assert "/proc/" not in told
            accept_all(writer, BLOCKS[3:4])
        assert list(schema.check(theirs, no_progress)) == []
        shutil.rmtree(used)
        if made[0] < n:
            assert not told
            break
    assert n > 5


@pytest.mark.parametrize("name", [LOG, f"interval@{OTHER}"])
def test_no_index_is_made_in_a_database_that_comes_once_another_was_looked_at(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What FORMAT says of keys is looked at before the directory is held."""
    schema = find_schema(name)
    if schema.missing is not None:
        pytest.skip(schema.missing)
    with schema.open(tmp_path / "db") as database:
        accept_all(database, BLOCKS)
    before = contents(tmp_path)
    monkeypatch.setattr("cdb.front.offers.extra_at", lambda path, schema: "index=puzzle_hash")
    for read_only in (True, False):
        with pytest.raises(WrongDatabaseError, match="it has no index by puzzle_hash"):
            schema.open(tmp_path / "db", read_only=read_only)
    assert contents(tmp_path) == before

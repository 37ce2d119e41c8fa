"""pebble_kv: what Pebble, in a library of Go, is to the contract."""

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from cdb.engines import ENGINES
from cdb.errors import CorruptDatabaseError, UnsupportedError
from cdb.schemas.pebble_kv import KIND
from cdb.stores.coin_set.binding import CoinSet, Options
from cdb.stores.coin_set.schema import CoinSetSchema
from cdb.testing.base import accept_all
from cdb.testing.chains import sample_chain
from tests.conftest import PACKAGE_PARENT, copy_at_rest
from tests.engine_suite import StayingReaders
from tests.in_fork import exit_code
from tests.lab.processes import soon

needs_pebble = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)
opened = partial(CoinSetSchema, KIND)
SMALL = partial(opened, commit_entries=40, ingest_entries=15)
CHAIN = sample_chain(30)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database"


def in_python(text: str, *arguments: str) -> str:
    """What a Python of its own prints."""
    environment = os.environ | {"PYTHONPATH": str(PACKAGE_PARENT)}
    line = [sys.executable, "-c", text, *arguments]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_where_it_is_not_built_it_says_what_to_type() -> None:
    hidden = """
import sys
sys.modules["cdb.engines._pebble"] = None
from cdb.schemas import find_schema
print(find_schema("pebble_kv").missing)
"""
    told = in_python(hidden)
    assert told.startswith("the Pebble engine is missing (")
    assert "install Go 1.25 or later" in told
    assert told.endswith(", then type 'make engine-pebble'")


@needs_pebble
class TestTheLibrary:
    """It has threads from the moment it is loaded."""

    def test_it_is_loaded_by_the_first_call(self) -> None:
        asked = """
from cdb.schemas.pebble_kv import KIND
def is_loaded():
    return "libcdb_go.so" in open("/proc/self/maps").read()
KIND.engine.load()
print(is_loaded(), KIND.engine.version(), is_loaded())
"""
        told = in_python(asked)
        assert told.startswith("False Pebble 2.")
        assert "GOMAXPROCS=" in told
        assert "GOGC=" in told
        assert told.endswith(" True")

    @pytest.mark.parametrize("engine", [e.name for e in ENGINES.values() if e.language == "Go"])
    def test_a_forked_child_is_told(self, path: Path, engine: str) -> None:
        """Also by another engine in it."""
        with SMALL(path) as database:
            accept_all(database, CHAIN.blocks)
            native = ENGINES[engine].native("cdb_set_")
            if native.missing() is not None:
                pytest.skip(str(native.missing()))

            def in_child() -> None:
                with pytest.raises(UnsupportedError, match="forked from has used Go, and its thr"):
                    native.call(path, "close", None)

            assert exit_code(in_child) == 0

    def test_without_it_one_line_says_so(self, path: Path, tmp_path: Path) -> None:
        path.mkdir()
        assert KIND.engine.load().__file__ is not None
        alone = tmp_path / "alone"
        alone.mkdir()
        shutil.copy(str(KIND.engine.load().__file__), alone)
        asked = """
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
spec = PathFinder.find_spec("cdb.engines._pebble", [sys.argv[1]])
module = sys.modules["cdb.engines._pebble"] = module_from_spec(spec)
spec.loader.exec_module(module)
from cdb.schemas import open_schema
try:
    open_schema("pebble_kv", sys.argv[2])
except Exception as error:
    print(type(error).__name__, error)
"""
        told = in_python(asked, str(alone), str(tmp_path / "db"))
        assert told.startswith("StorageError ")
        assert "libcdb_go.so can't be loaded" in told
        assert "make engine-pebble" in told


@needs_pebble
class TestPebble(StayingReaders):
    """It writes later what it was not told to sync: here it has to be written by the flush."""

    kind = KIND
    schema = "pebble_kv"
    largest_bytes = 1 << 10


@needs_pebble
def test_what_is_kept_for_look_ups_keeps_no_table_that_was_replaced(
    path: Path, tmp_path: Path
) -> None:
    def tables(of: Path) -> set[str]:
        return {file.name for file in (of / "db").glob("*.sst")}

    twin = tmp_path / "twin"
    with SMALL(path) as database:
        accept_all(database, CHAIN.blocks)
        database.flush()
        for name in sorted(CHAIN.names):
            assert len(database.coin_infos_for_coin_names([name])) == 1
        before = tables(path)
        database.settle()
        copy_at_rest(path, twin)
        with SMALL(twin):
            living = tables(twin)  # an opening removes all others
        assert before - living
        assert soon(lambda: tables(path) == living)  # Pebble removes them in a thread of its own


@needs_pebble
def test_a_flipped_bit_of_a_table_is_found(path: Path) -> None:
    with SMALL(path) as database:
        accept_all(database, CHAIN.blocks)
        database.settle()
    table = max((path / "db").glob("*.sst"), key=lambda file: file.stat().st_size)
    contents = bytearray(table.read_bytes())
    contents[len(contents) // 3] ^= 1
    table.write_bytes(contents)
    options = Options("interval", False, True, False, 1, 1, 1 << 20)
    coins = CoinSet(KIND.engine, path / "db", options)
    with pytest.raises(CorruptDatabaseError, match=table.name):
        coins.verify()
    coins.close()

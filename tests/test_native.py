"""Native code: what its extensions show, and its errors, none of them told by its wording."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    SchemaError,
    StorageError,
    UnsupportedError,
    WrongDatabaseError,
)
from cdb.extensions.native import _EXCEPTIONS, Ended, NativeError, TakenBackError
from cdb.schemas.rocks_kv import KIND
from cdb.stores.coin_log import binding as coin_log
from cdb.stores.coin_set.binding import CoinSet, Options
from cdb.stores.rows import rocks_index

ENGINES = {
    "coin_log": coin_log.load,
    "interval@rocksdb": KIND.engine.load,
    "rows": rocks_index.load,
}
PATH = Path("/a/database")


@pytest.fixture(params=ENGINES)
def native(request: pytest.FixtureRequest) -> ModuleType:
    """Each engine's extension module."""
    try:
        return ENGINES[request.param]()
    except SchemaError as error:
        pytest.skip(str(error))


def test_an_extension_shows_nothing_but_its_entry(native: ModuleType) -> None:
    """Weak names of the C++ library would be shared with any other library of the process."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("there is no nm, of binutils")
    assert native.__file__ is not None
    shown = subprocess.check_output(
        [nm, "-D", "--defined-only", native.__file__], text=True
    ).split()[2::3]
    assert [name for name in shown if not name.startswith("PyInit_")] == []
    assert shown


@pytest.mark.skipif(not hasattr(os, "RTLD_GLOBAL"), reason="names are always apart here")
def test_extensions_whose_names_are_global_share_none(tmp_path: Path) -> None:
    """As a process loads them that asked for it; so a look-up by one ran another's code."""
    code = """
import sys, os
sys.setdlopenflags(os.RTLD_GLOBAL | os.RTLD_NOW)
from cdb.schemas import find_schema
from cdb.schemas.registry import names_at_paths
from cdb.testing.chains import sample_chain
chain = sample_chain(30)
for name in names_at_paths():
    schema = find_schema(name)
    if schema.missing is None and name != "null":
        with schema.open(os.path.join(sys.argv[1], name)) as database:
            for block in chain.blocks:
                database.accept_block(block)
            assert len(database.coin_infos_for_coin_names(chain.names)) == len(chain.names)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


def error_of(native: ModuleType, status: str, **fields: Any) -> Exception:
    fields = {"offset": -1, "what": b"this", **fields, "status": getattr(native.lib, status)}
    return NativeError.of(native, native.ffi.new("cdb_error *", fields)).exception(PATH)


def test_each_status_stands_for_an_exception(native: ModuleType) -> None:
    statuses = {*native.ffi.typeof("cdb_status").relements} - {"CDB_OK"}
    assert statuses == {*_EXCEPTIONS}
    for status in statuses:
        assert type(error_of(native, status)) is _EXCEPTIONS[status]


@pytest.mark.parametrize(
    ("status", "fields", "expected"),
    [
        (
            "CDB_IO",
            {"system_errno": 13, "file": b"log"},
            StorageError(
                PATH / "log", "this", "get the right to it, or run as its owner, then try again"
            ),
        ),
        ("CDB_IO", {}, StorageError(PATH, "this", "check the disk, then try again")),
        (
            "CDB_NO_SPACE",
            {"system_errno": 28},
            StorageError(PATH, "this", "free some space, then try again"),
        ),
        ("CDB_FAILED", {"advice": b"do"}, StorageError(PATH, "this", "do")),
        (
            "CDB_CORRUPT",
            {"file": b"x", "offset": 7},
            CorruptDatabaseError(PATH / "x", "this at byte 7"),
        ),
        ("CDB_CORRUPT", {"offset": 0}, CorruptDatabaseError(PATH, "this at byte 0")),
        ("CDB_FOREIGN", {"advice": b"do; that"}, WrongDatabaseError(PATH, "this", "do; that")),
        ("CDB_REWOUND", {"advice": b"do"}, DatabaseClosedError(PATH, "this", "do")),
        ("CDB_LIMIT", {}, UnsupportedError(f"{PATH}: this")),
        ("CDB_LIMIT", {"advice": b"do"}, UnsupportedError(f"{PATH}: this; do")),
        ("CDB_INVALID", {"what": b"\xff"}, ValueError(f"{PATH}: \ufffd")),
        ("CDB_TAKEN_BACK", {}, TakenBackError(f"{PATH}: this")),
    ],
)
def test_what_fields_say(
    native: ModuleType, status: str, fields: dict[str, Any], expected: Exception
) -> None:
    assert str(error_of(native, status, **fields)) == str(expected)


@pytest.mark.skipif(KIND.engine.missing() is not None, reason=str(KIND.engine.missing()))
def test_a_text_that_is_too_long_lacks_its_middle(tmp_path: Path) -> None:
    (tmp_path / "CURRENT").write_text(f"MANIFEST-{'0' * 2000}1\n")
    with pytest.raises(StorageError) as caught:
        CoinSet(KIND.engine, tmp_path, Options("interval", False, True, False, 1, 1, 1 << 20))
    problem = caught.value.problem
    assert len(problem) == 1023
    assert problem.startswith("reading or writing failed (")
    assert "00 ... 00" in problem
    assert problem.endswith("1: File name too long)")


def test_handles_are_freed_in_any_order() -> None:
    """Of a reader and of what it reads from, which may be garbage together."""
    freed: list[object] = []
    ended = Ended(freed.append)
    ended.add("reader")
    assert len(ended) == 1
    ended.end_with(freed.append, "database")
    ended.add("later reader")
    assert freed == ["reader", "database", "later reader"]

"""Files of our own formats, changed at will: each is an error that says damage, or is as it was.

Where the checksums of a change are right again, what it says may be read.
"""

import os
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import pytest

from cdb.contract.durability import Durability
from cdb.disk.home import FORMAT_FILE, Home, schema_at
from cdb.errors import CdbError
from cdb.stores.coin_set.promise import NEWEST_FILE, Promise, read_promise, write_promise
from cdb.stores.rows.index import Watermark
from cdb.stores.rows.lsm.flat_run import FLAT
from cdb.stores.rows.lsm.manifest import MANIFEST_NAME
from cdb.stores.rows.lsm.tree import LsmIndex
from cdb.testing.chains import sample_chain
from cdb.testing.faults.mutate import FORGED, MUTATION
from cdb.testing.faults.trial import new_directory
from cdb.text import replay_file

CHANGES = int(os.environ.get("CDB_FUZZ_CHANGES", "200"))
NAMES = [Random(row).randbytes(32) for row in range(250)]

Read = Callable[[], object]


def _index(directory: Path) -> LsmIndex:
    return LsmIndex(directory, FLAT, durability=Durability.NONE)


def _read_index(directory: Path) -> object:
    with closing(_index(directory)) as index:
        index.check()
        found = [index.find([name]) for name in NAMES]
        index.rewind(Watermark(60, NAMES[59]), iter(()))
        index.write(NAMES[60:], Watermark(250, NAMES[-1]))
    return found


def _write_index(directory: Path) -> None:
    with closing(_index(directory)) as index:
        index.write(NAMES[:200], Watermark(200, NAMES[199]))
        index.write(NAMES[200:], Watermark(250, NAMES[249]))
        index.rewind(Watermark(240, NAMES[239]), iter(()))


def _manifest(directory: Path) -> tuple[Path, Read]:
    _write_index(directory)
    return directory / MANIFEST_NAME, lambda: _read_index(directory)


def _flat_run(directory: Path) -> tuple[Path, Read]:
    _write_index(directory)
    return min(directory.glob("run-*")), lambda: _read_index(directory)


def _replay_file(directory: Path) -> tuple[Path, Read]:
    path = directory / "memory"
    replay_file.save(path, sample_chain(5).blocks, durable=False)
    return path, lambda: replay_file.load(path)


def _format(directory: Path) -> tuple[Path, Read]:
    Home(directory, "memory", 1, read_only=False).close()
    return directory / FORMAT_FILE, lambda: schema_at(directory)


def _newest(directory: Path) -> tuple[Path, Read]:
    path = directory / NEWEST_FILE
    write_promise(path, Promise(5, 17))
    return path, lambda: read_promise(path)


@pytest.mark.parametrize("made", [_manifest, _flat_run, _replay_file, _format, _newest])
def test_any_change_is_harmless_or_is_an_error_of_ours(
    made: Callable[[Path], tuple[Path, Read]], tmp_path: Path
) -> None:
    _, read = made(new_directory(tmp_path / "whole"))
    whole = read()
    for number in range(CHANGES):
        path, read = made(new_directory(tmp_path / "database"))
        damaged = MUTATION.damage(path.read_bytes(), {}, Random(number))
        assert damaged is not None
        path.write_bytes(damaged.contents)
        try:
            with suppress(CdbError):
                found = read()
                # FORMAT has no checksum.
                may_differ = damaged.place.startswith(FORGED) or made is _format
                assert may_differ or found == whole
        except Exception as error:
            error.add_note(f"change {number}")
            raise

"""What fuzzing found once, each with a test of its own."""

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cdb.errors import CorruptDatabaseError
from cdb.schemas import find_schema
from cdb.stores.rows.lsm.manifest import MANIFEST_NAME, Manifest, read_manifest, write_manifest


def test_a_manifest_that_is_nested_too_deeply_is_damage(tmp_path: Path) -> None:
    write_manifest(tmp_path, Manifest("flat"), durable=False)
    body = b"[" * 100_000
    checksum = hashlib.sha256(body).hexdigest()
    (tmp_path / MANIFEST_NAME).write_bytes(f"sha256 {checksum}\n".encode() + body)
    with pytest.raises(CorruptDatabaseError, match="makes no sense"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("schema", "file", "table"),
    [("blockchain_v2", "", "coin_record"), ("flat_file", "coins.sqlite", "spend")],
)
@pytest.mark.parametrize("value", ["seven", b"\7", -7])
def test_a_coin_that_is_spent_by_no_number_is_damage(
    loaded: Callable[[str], Path], schema: str, file: str, table: str, value: object
) -> None:
    path = loaded(schema)
    with closing(sqlite3.connect(path / file)) as database, database:
        database.execute(
            f"UPDATE {table} SET spent_index = ? WHERE spent_index ="  # noqa: S608
            f" (SELECT max(spent_index) FROM {table})",
            (value,),
        )
    check = find_schema(schema).spec.check
    assert check is not None
    assert list(check(path, lambda coins: None))

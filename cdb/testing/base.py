"""What all groups of contract tests share: the schema under test, and the model beside it."""

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import pytest

from cdb.contents.state import StateSummary, summarize
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import bytes32
from cdb.errors import BlockError, CdbError
from cdb.schemas import Schema, SchemaFactory, find_schema
from cdb.schemas.registry import takes
from cdb.testing.side_by_side import model_of

SMALL_MANY = 5_000
"""Of a small twin: its runs are merged again and again."""


class SchemaTests:
    """A group of tests of one schema."""

    schema: ClassVar[SchemaFactory | str]
    """A class or function that opens a database, or the name of a registered schema."""

    def open(self, path: Path, *, read_only: bool = False) -> Schema:
        """Open or create a database with the schema under test; read_only where it takes that."""
        # Not self.schema: a function would become a method there.
        schema = type(self).schema
        if not isinstance(schema, str):
            takes_it = read_only and takes(schema, "read_only")
            return schema(path, read_only=True) if takes_it else schema(path)
        found = find_schema(schema)
        if found.missing is not None:
            pytest.skip(f"{found.name}: {found.missing}")
        if found.spec.takes_url:
            pytest.skip(f"{found.name}: these tests make databases at paths, and it takes URLs")
        return found.open(path, read_only=read_only)

    def at_most(self, many: int) -> int:
        """So many, or fewer where each takes long: its module says so, or it is small."""
        schema = type(self).schema
        if not isinstance(schema, str):
            return many
        found = find_schema(schema)
        fewer = [most for most in (many, found.spec.many) if most is not None]
        return min(*fewer, SMALL_MANY) if schema == found.small else min(fewer)

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        """Where the database of one test is."""
        return tmp_path / "database"

    def refuses(
        self,
        schema: Schema,
        block: BlockSpendInfo,
        error: type[BlockError],
        coin_name: bytes32 | None = None,
    ) -> None:
        """The block is refused with this error, and nothing changes."""
        before = summarize(schema)
        with pytest.raises(error) as refusal:
            schema.accept_block(block)
        assert refusal.value.block_index == block.index
        if coin_name is not None:
            assert refusal.value.coin_name == coin_name
        assert summarize(schema) == before

    def spec(self) -> str:
        """The schema as another process can find it."""
        schema = type(self).schema
        if isinstance(schema, str):
            missing = find_schema(schema).missing
            if missing is not None:
                pytest.skip(missing)
            return schema
        spec = f"{schema.__module__}:{getattr(schema, '__qualname__', '')}"
        try:
            found = find_schema(spec).spec.factory
        except CdbError:
            found = None
        if found is not schema:
            pytest.skip(f"another process can't import {schema}: define it in a module of its own")
        return spec


def accept_all(schema: Schema, blocks: Iterable[BlockSpendInfo]) -> None:
    for block in blocks:
        schema.accept_block(block)


def expected_state(blocks: Iterable[BlockSpendInfo]) -> StateSummary:
    return summarize(model_of(blocks))

"""redb_kv: what redb is to the contract, and its readers."""

import pytest

from cdb.schemas.redb_kv import KIND
from tests.engine_suite import CopyOnWriteTests, StayingReaders

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)


class TestRedb(StayingReaders, CopyOnWriteTests):
    kind = KIND
    schema = "redb_kv"
    file = "data.redb"
    failed = r"data\.redb: "

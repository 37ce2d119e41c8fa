"""A block that lacks coins which other rows say it has: damage, whatever the engine makes of it."""

from pathlib import Path

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin, bytes32
from cdb.errors import CorruptDatabaseError
from cdb.schemas.rocks_kv import KIND
from cdb.stores.coin_set.schema import open_coin_set
from cdb.testing.chains import hash_of
from tests.coin_set.rocksdb_rows import Families

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)

COINS = [Coin(hash_of("payer", n), hash_of("payee"), n) for n in range(5)]
CONFIRM_BYTES = 72


@pytest.mark.parametrize("n_asked", [1, 2])
@pytest.mark.parametrize("lost_bytes", [1, CONFIRM_BYTES, len(COINS) * CONFIRM_BYTES])
def test_a_coin_behind_the_end_of_its_block_is_damage(
    tmp_path: Path, n_asked: int, lost_bytes: int
) -> None:
    with open_coin_set(KIND, tmp_path, index="puzzle_hash") as schema:
        schema.accept_block(BlockSpendInfo(1, 0, [], COINS))
        schema.settle()
    with Families(tmp_path / "db") as families:
        _, (part, confirms) = families.rows("blocks")
        families.put("blocks", part, confirms[:-lost_bytes])
    rows = [confirms[at : at + CONFIRM_BYTES] for at in range(0, len(confirms), CONFIRM_BYTES)]
    names = [
        Coin(bytes32(row[:32]), bytes32(row[32:64]), int.from_bytes(row[64:])).name()
        for row in rows[-n_asked:]
    ]
    with (
        open_coin_set(KIND, tmp_path, index="puzzle_hash") as schema,
        pytest.raises(CorruptDatabaseError, match="a block is cut"),
    ):
        schema.coin_infos_for_coin_names(names)

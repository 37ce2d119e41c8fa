"""The full node's own coin_record table: SQLite, with the 32-byte coin name as its primary key.

    PATH           coin_record as the node has it; of ours, cdb_block and cdb_format beside it
    PATH.lock      held by the one writer

Two sets of indexes: ``benchmark`` (the primary key and coin_parent: the published baseline) and
``node`` (all that the node has: cdb.schemas.blockchain_v2:NODE). A file that a node wrote is opened
only for reading, and not one byte of it or beside it changes.
"""

from functools import partial

from cdb.contract.history import BY_CREATION
from cdb.contract.schema import AcceptsPacked, HistoryPacked, ReadsPacked, Settles, TellsFacts
from cdb.contract.spec import SchemaSpec
from cdb.stores.node_table.opening import blockchain_v2, check, format_of
from cdb.stores.rows.sqlite import SQLITE_NOT_DURABLE, sqlite_versions

NODE = partial(blockchain_v2, index_set="node")
SCHEMA = SchemaSpec(
    blockchain_v2,
    default_path="blockchain_v2_mainnet.sqlite",
    versions=sqlite_versions,
    offers=(AcceptsPacked, ReadsPacked, Settles, HistoryPacked, TellsFacts),
    indexed=NODE,
    history=BY_CREATION,
    check=check,
    format_of=format_of,
    limits=("SQLite",),
    not_durable=SQLITE_NOT_DURABLE,
    many=40_000,
)

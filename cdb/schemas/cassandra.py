"""Coins and blocks in a cluster of Apache Cassandra: for more than one machine holds.

    cassandra://HOST[,HOST…]/CHAIN    a chain in the keyspace cdb

Rows never change once written; one row says which of them count. See docs/scale-out.md.
"""

from functools import partial

from cdb.contract.durability import Durability
from cdb.contract.history import BY_CREATION
from cdb.contract.schema import AcceptsPacked, HistoryPacked, ReadsPacked, TellsFacts
from cdb.contract.secondary_keys import PUZZLE_HASH
from cdb.contract.spec import SchemaSpec
from cdb.stores.cassandra.cql import missing, versions
from cdb.stores.cassandra.schema import cassandra

SCHEMA = SchemaSpec(
    cassandra,
    takes_url=True,
    durabilities=(Durability.POWER, Durability.PROCESS),
    missing=missing,
    is_asked_for=True,
    versions=versions,
    offers=(AcceptsPacked, ReadsPacked, HistoryPacked, TellsFacts),
    indexed=partial(cassandra, index=PUZZLE_HASH),
    history=BY_CREATION,
    many=2_000,
)

"""Chains of the tests' cluster by a path, as tests name databases: in one keyspace, whose tables
are made once."""

import os
from functools import partial
from hashlib import sha256
from os import PathLike, fspath

from cdb.contract.durability import Durability
from cdb.stores.cassandra.schema import CassandraSchema, cassandra

HOSTS = os.environ.get("CDB_TEST_CLUSTER", "")
"""The cluster's hosts; 'make cluster-tests' starts one. "": there is none."""


TLS = os.environ.get("CDB_TEST_TLS", "")
"""Its certificate, if it offers TLS."""


def url_of(path: str | PathLike[str], options: str = "") -> str:
    """The chain of a path."""
    return f"cassandra://{HOSTS}/{sha256(fspath(path).encode()).hexdigest()[:24]}{options}"


def open_at_path(
    path: str | PathLike[str],
    *,
    durability: Durability = Durability.POWER,
    read_only: bool = False,
    index: str = "",
) -> CassandraSchema:
    """See cassandra()."""
    return cassandra(url_of(path), durability=durability, read_only=read_only, index=index)


KEYED = partial(open_at_path, index="puzzle_hash")

"""Digest: what a database holds, read through the contract alone."""

from cdb.schemas import find_schema
from cdb.state import StateSummary, summarize


def digest(schema: str, path: str) -> StateSummary:
    """See cdb.state.summarize."""
    with find_schema(schema).open(path, read_only=True) as database:
        return summarize(database)

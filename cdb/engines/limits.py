"""What several engines can't do, as Limits."""

from cdb.contract.limits import WRONG, Limit

_OLDER_FILE = "an older file, put back whole, is the database of then, unless NEWEST promises more"
_WHOLE = "whole-of-step-*"


def unverified(library: str, path: str) -> tuple[Limit, ...]:
    """Of an engine that keeps all in one file, and verifies no page of it."""
    page = f"{library} verifies no page that it reads: damage hides keys, until verify asks for all"
    return Limit("*", ("served",), page, path), Limit("stale", WRONG, _OLDER_FILE, path, _WHOLE)


def by_halves(library: str, path: str) -> Limit:
    """Of an engine that refuses what a system call has done in part."""
    half = f"{library} makes no second call for the rest, but refuses: nothing flushed is lost"
    return Limit("*", ("noticed",), half, path)

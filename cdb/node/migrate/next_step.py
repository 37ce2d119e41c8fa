"""What is to be typed next on the way of a node's coins into cdb."""

from contextlib import suppress

from cdb.contract.printable import shell_word
from cdb.errors import CdbError
from cdb.node.migrate.migration import standing_of
from cdb.node.node_database import Coins
from cdb.node.status import Status


def next_step(status: Status) -> str | None:
    """One line; None where nothing is left to do. The node's files are only read."""
    if status.file.coins is Coins.IN_TABLE:
        return _towards_cdb(status)
    if status.file.is_unused and not status.problems:
        return "start the node as cdb_full_node"
    return None


def copied_height(status: Status) -> int | None:
    """Up to which block a log that is not in use is a copy; None where none is, or a damaged one.
    The node's files are only read."""
    if status.file.coins is not Coins.IN_TABLE:
        return None
    with suppress(CdbError):
        height = standing_of(status.path).height
        return height if height >= 0 else None
    return None


def _towards_cdb(status: Status) -> str:
    word = shell_word(status.path)
    try:
        standing = standing_of(status.path)
    except CdbError as error:
        return f"{error}; then cdb migrate {word}"
    if standing.verified >= 0:
        copied = f"the copy, up to block {standing.height}, is verified"
        return f"{copied}: stop the node, and cdb migrate --activate {word}"
    if standing.height >= 0:
        return f"it is copied up to block {standing.height}: cdb migrate {word} goes on"
    return f"to have its coins in cdb: cdb migrate {word}"

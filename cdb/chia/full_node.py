"""chia's full node with its coins in cdb: the console script cdb_full_node."""

import importlib
import sys
from importlib.util import find_spec

from cdb.chia.signatures import another_chia, check_signatures
from cdb.errors import CdbError, UnsupportedError

_HAS_IT_BY_NAME = "chia.full_node.full_node"
"""What has chia's class by name as soon as it is imported."""
INSTALL = "pip install 'coinset-db[chia]'"
"""pip finds the cdb that is installed, so it takes only chia from its index."""


def main() -> int:
    """Run chia's service with the process's arguments; its exit code, or 1 after an error."""
    try:
        put_in_place()
        service = importlib.import_module("chia.full_node.start_full_node")
        code: int = service.main()
    except CdbError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return code


def put_in_place() -> None:
    """Put CoinStore where chia's own class is. Raises UnsupportedError where that can't be done."""
    check_installed()
    if _HAS_IT_BY_NAME in sys.modules:
        raise UnsupportedError(f"{_HAS_IT_BY_NAME} was imported before; do this first")
    try:
        from cdb.chia.store import CoinStore

        theirs = importlib.import_module("chia.full_node.coin_store")
        check_signatures(theirs.CoinStore, CoinStore)
    except (ImportError, AttributeError) as error:
        raise another_chia(str(error)) from error
    theirs.__dict__["CoinStore"] = CoinStore


def check_installed() -> None:
    """Raise UnsupportedError where chia is not installed."""
    problem = missing_chia()
    if problem is not None:
        raise UnsupportedError(problem)


def missing_chia() -> str | None:
    """Why no node can run here, and what helps; None where chia can be imported."""
    return None if find_spec("chia") else f"chia-blockchain is not installed beside cdb; {INSTALL}"


if __name__ == "__main__":
    sys.exit(main())

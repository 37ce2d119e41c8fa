"""The store over coin rows, and a way to find them by name.

Shared by every schema whose coins are SQLite rows; docs/architecture.md says how the parts meet.
"""

from collections.abc import Callable

from cdb.front.history import ViewHistory
from cdb.front.offers import Settling, Telling
from cdb.stores.rows.backend import NamedRows


class CoinStore(Settling, Telling, ViewHistory):
    """See Store. One lock makes each call whole: reads from other threads wait for the writer."""

    _backend: NamedRows

    def __init__(
        self,
        backend: NamedRows,
        release: Callable[[], None],
        check_lock: Callable[[], None],
        *,
        read_only: bool,
    ) -> None:
        """check_lock: of a writer; raises where its lock is no longer that of the path."""
        rows = backend.rows

        def check_place() -> None:  # of what it needs alone: a store that is dropped ends at once
            check_lock()
            rows.check_in_place()

        super().__init__(rows.path, backend, release, read_only=read_only, check_place=check_place)

"""What a store offers beyond the contract, where its backend does: a schema's class inherits it.

    class MySchema(Settling, Telling):
        _backend: MyBackend

History is in cdb.front.history, and refusals that come later in cdb.front.late.
"""

from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cdb.contract.coin_query import CoinQuery
from cdb.contract.facts import Facts
from cdb.contract.packed import Packed
from cdb.contract.secondary_keys import EXTRAS, PUZZLE_HASH, Indexed, extra_for, how_to_index
from cdb.disk.home import Home, extra_at
from cdb.disk.paths import located
from cdb.disk.sharing import beside, writing
from cdb.errors import WrongDatabaseError
from cdb.front.backend import KeyedBackend, SettlingBackend, TellingBackend
from cdb.front.store import Store

S = TypeVar("S", bound=Store)


def keyed_home(
    schema: str,
    version: int,
    path: Path,
    index: str,
    *,
    is_keyed: bool,
    read_only: bool,
    folder: str,
    folders: str = "",
) -> Home:
    """The home of a database that may have secondary keys; with an index it gets them.

    is_keyed: it is opened for what has them. Raises UnsupportedError for an index that there is
    none of, WrongDatabaseError where the database has none and gets none, or what Home raises.
    """
    home = Home(
        path,
        schema,
        version,
        read_only=read_only,
        folder=folder,
        folders=folders,
        extras=EXTRAS,
        extra=extra_for(schema, index),
    )
    if is_keyed and not home.extra:
        home.close()
        advice = how_to_index(schema, path)
        raise WrongDatabaseError(path, f"it has no index by {PUZZLE_HASH}; {advice}")
    return home


def open_keyed(
    schema: str,
    openers: tuple[Callable[..., S], Callable[..., S]],
    path: str | PathLike[str],
    *,
    read_only: bool = False,
    index: str = "",
    **options: Any,
) -> S:
    """Open a database, or make one, by the second of two openers where it has secondary keys, or
    is given an index, and else by the first.

    A reader of a database whose keys are not made yet finds coins by their names.
    """
    plain, keyed = openers
    if index:
        return keyed(path, read_only=read_only, index=index, **options)
    if extra_at(located(path, read_only=read_only), schema) in EXTRAS:
        with suppress(UnfinishedKeysError):
            # No other database that has taken the path since gets keys.
            return keyed(path, read_only=read_only, **options)
    return plain(path, read_only=read_only, **options)


class UnfinishedKeysError(WrongDatabaseError):
    """Secondary keys are not made yet, and a reader makes none."""


class Settling(Store):
    """Does what compaction its backend owes."""

    _backend: SettlingBackend

    @writing
    def settle(self) -> None:
        """See Settles. Where reads don't go on beside a write, they wait for it."""
        with self.guard.write():
            self._backend.settle()


class Telling(Store):
    """Tells what its backend knows of itself."""

    _backend: TellingBackend

    @beside
    def facts(self) -> Facts:
        """See TellsFacts."""
        return self._backend.facts()


class Keyed(Store, Indexed):
    """Finds coins by secondary keys."""

    _backend: KeyedBackend

    @beside
    def coins_packed(self, query: CoinQuery) -> Packed:
        """See QueriesPacked."""
        return self._read(self._backend.ask, query.checked())


if TYPE_CHECKING:
    from cdb.contract.schema import IndexedSchema, QueriesPacked, Settles, TellsFacts

    _settles: type[Settles] = Settling
    _tells: type[TellsFacts] = Telling
    _finds: type[IndexedSchema] = Keyed
    _queries: type[QueriesPacked] = Keyed

"""What a schema of coin rows with an index of their names says of itself."""

from collections.abc import Callable
from functools import partial

from cdb.contract.history import BY_CREATION
from cdb.contract.limits import Limit
from cdb.contract.schema import AcceptsPacked, HistoryPacked, ReadsPacked, Settles, TellsFacts
from cdb.contract.spec import SchemaSpec
from cdb.stores.rows.index import IndexFactory
from cdb.stores.rows.opening import check_indexed, open_indexed, repair_indexed
from cdb.stores.rows.sqlite import SQLITE_NOT_DURABLE, sqlite_versions


def rows_spec(
    name: str,
    index_factory: IndexFactory,
    *,
    load_engine: Callable[[], object] | None = None,
    missing: Callable[[], str | None] | None = None,
    versions: Callable[[], list[str]] = list,
    limits: tuple[Limit | str, ...] = (),
    not_durable: tuple[str, ...] = (),
    checksummed: str = "db/FORMAT",
) -> SchemaSpec:
    """Coins in SQLite rows, which an index finds by their names.

    load_engine: raises where the index's engine can't be used, before anything is made. versions,
    limits, not_durable: what the index adds to those of SQLite. The others: see SchemaSpec.
    """
    factory = partial(open_indexed, name, index_factory, load_engine=load_engine)
    return SchemaSpec(
        factory,
        missing=missing,
        versions=lambda: [*sqlite_versions(), *versions()],
        offers=(AcceptsPacked, ReadsPacked, Settles, HistoryPacked, TellsFacts),
        history=BY_CREATION,
        check=partial(check_indexed, name, index_factory, load_engine=load_engine),
        repair=partial(repair_indexed, name, index_factory, load_engine=load_engine),
        small=partial(factory, memtable_coins=20),
        limits=("coin rows", *limits),
        not_durable=(*SQLITE_NOT_DURABLE, *not_durable),
        checksummed=checksummed,
    )

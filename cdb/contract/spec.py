"""What a schema's module says of itself: the one thing that the registry reads of it.

    SCHEMA = SchemaSpec(open_it, history=BY_CREATION, check=check)

A module with nothing to say beyond how a database is opened may have that itself as its SCHEMA.
"""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field

from cdb.contract.durability import Durability
from cdb.contract.limits import Limit
from cdb.contract.schema import Check, FormatOf, Repair, SchemaFactory

ALL_DURABILITIES = (Durability.POWER, Durability.PROCESS, Durability.NONE)


@dataclass(frozen=True)
class SchemaSpec:
    """A schema, as its module declares it.

    For users:

    - factory: opens a database;
    - description: one line; by default the first one of the module's docstring;
    - takes_url: a database is at a URL, which the factory gets as it was given; else at a path;
    - default_path: where its database is when nobody says; by default ``NAME.cdb``, and at no URL;
    - durabilities: what it offers, the strongest first;
    - options: by name, what reads the value of an option (a ValueError says what is wrong with it);
      it goes to the factory by that name;
    - keeps_contract: False where it measures something, and stores nothing;
    - missing: why it can't be used on this machine, and what to do; None when it can;
    - is_asked_for: what it needs is no part of a plain installation;
    - versions: the libraries beneath it, such as "RocksDB 7.8.3".

    What it offers beyond Schema. An open database tells the same of itself: see offer_of().

    - offers: those of AcceptsPacked, ReadsPacked, Settles, HistoryPacked and TellsFacts that each
      of its databases keeps; None where the module doesn't say;
    - indexed: what factory is, and a database that it makes offers IndexedSchema, and perhaps
      QueriesPacked; factory itself, where each of its databases does;
    - history: its databases offer HistorySchema, and state_at() and unspent() give coins in this
      order: cdb.contract.history.BY_CREATION or BY_NAME;
    - check, repair: of its files, as `cdb verify` calls them;
    - format_of: recognizes a database that is no directory with a FORMAT file;
    - in_layout: of a coin set over ordered keys; see cdb.stores.coin_set.spec.

    For tests, faults and soaks. In not_durable, checksummed and a Limit the database is called db:
    ``db/index/run-1``, or ``db`` and ``db-wal`` of one file.

    - small: what factory is, with sizes so small that short tests reach what lies behind them;
    - limits: what its engine can't do, however it is used: a Limit each, or what is beneath it, by
      a name of cdb.testing.faults.known; faults and soaks try it all the same, and report it as
      known when it fails so;
    - not_durable: patterns (fnmatch) of its files whose contents count for nothing, such as a lock
      that the engine maps or a log for people; power cuts may do with them what they like;
    - makes_own_calls: its engine makes system calls itself, not by the C library, as what is
      written in Go does: no preloaded library sees them, and trials made by one are left out;
    - checksummed: a regular expression of whole names: its files in which verify finds any change;
    - many: how many coins tests make where they make masses, and names where they ask for many;
      fewer than they would by themselves, where each takes long.
    """

    factory: SchemaFactory
    _: KW_ONLY
    description: str = ""
    takes_url: bool = False
    default_path: str = ""
    durabilities: tuple[Durability, ...] = ALL_DURABILITIES
    options: Mapping[str, Callable[[str], object]] = field(default_factory=dict)
    keeps_contract: bool = True
    missing: Callable[[], str | None] | None = None
    is_asked_for: bool = False
    versions: Callable[[], list[str]] | None = None
    offers: tuple[type, ...] | None = None
    indexed: SchemaFactory | None = None
    history: str | None = None
    check: Check | None = None
    repair: Repair | None = None
    format_of: FormatOf | None = None
    in_layout: "Callable[[SchemaSpec, str, Mapping[str, str]], SchemaSpec] | None" = None
    small: SchemaFactory | None = None
    limits: tuple[Limit | str, ...] = ()
    not_durable: tuple[str, ...] = ()
    makes_own_calls: bool = False
    checksummed: str = ""
    many: int | None = None

    def __post_init__(self) -> None:
        """Raise TypeError for a field of another kind: modules are written by anybody."""
        for name in _CALLED:
            value = getattr(self, name)
            is_left_out = value is None and name != "factory"
            if not is_left_out and (not callable(value) or value is SchemaSpec):
                raise TypeError(f"SchemaSpec's {name} is no function: {value!r}")
        for name, kinds in _KINDS.items():
            if not isinstance(getattr(self, name), kinds):
                raise TypeError(f"SchemaSpec's {name} is of another kind: {getattr(self, name)!r}")
        if not self.durabilities or not all(isinstance(x, Durability) for x in self.durabilities):
            raise TypeError("SchemaSpec's durabilities are no levels of cdb.Durability")
        if not all(map(callable, self.options.values())):
            raise TypeError("SchemaSpec's options have no functions that read their values")


_CALLED = (
    *("factory", "missing", "versions", "indexed", "check", "repair", "format_of", "in_layout"),
    "small",
)
_KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("description", "default_path", "checksummed"), (str,)),
    **dict.fromkeys(("takes_url", "keeps_contract", "makes_own_calls", "is_asked_for"), (bool,)),
    **dict.fromkeys(("durabilities", "limits", "not_durable"), (tuple,)),
    "offers": (tuple, type(None)),
    "history": (str, type(None)),
    "many": (int, type(None)),
    "options": (Mapping,),
}

"""A schema LAYOUT@ENGINE, made of the module that has the layout interval in that engine."""

from collections.abc import Mapping
from functools import cache, partial
from os import PathLike
from types import ModuleType
from typing import Any

from cdb.coin_set.layouts import LAYOUTS
from cdb.coin_set.schema import CoinSetSchema, IndexedCoinSetSchema, Kind, open_coin_set
from cdb.history import BY_NAME
from cdb.indexed import PUZZLE_HASH


def schema_of(name: str, interval: ModuleType, options: Mapping[str, str]) -> ModuleType:
    """What the module of a schema has, for LAYOUT@ENGINE. interval: the module of that engine;
    options: those that are given, by name."""
    layout_name = name.partition("@")[0]
    layout = LAYOUTS[layout_name]
    plain: Kind = interval.KIND
    if layout_name != "interval":
        plain = plain._replace(name=name)
    kept, others = layout.text_of(options)
    kind = plain._replace(layout=layout_name + kept + others)
    if kept:
        kind = kind._replace(name=name + kept)
    opened = partial(_open, kind)
    where = (interval.__doc__ or f"Everything in {name}").partition(":")[0]
    made = ModuleType(f"cdb.schemas.{name}", f"{where}: {layout.what}.")
    vars(made).update(
        {key: value for key, value in vars(interval).items() if key.isupper()},
        DEFAULT_PATH=f"{name.replace('@', '_')}.cdb",
        OPTIONS={**getattr(interval, "OPTIONS", {}), **layout.options},
        HISTORY=BY_NAME,
        SCHEMA=opened,
        SMALL=partial(opened, commit_entries=40, ingest_entries=15),
        INDEXED=partial(opened, index=PUZZLE_HASH),
        check=kind.check,
        repair=kind.repair,
        missing=kind.engine.missing,
        versions=kind.versions,
    )
    return made


def _open(kind: Kind, path: str | PathLike[str], **options: Any) -> CoinSetSchema:
    """See open_coin_set(). Options of the layout are in its kind."""
    in_kind = LAYOUTS[kind.layout.partition(",")[0]].options
    others = {name: value for name, value in options.items() if name not in in_kind}
    return open_coin_set(*_schemas(kind), path, **others)


@cache
def _schemas(kind: Kind) -> tuple[type[CoinSetSchema], type[IndexedCoinSetSchema]]:
    class Plain(CoinSetSchema):
        """See CoinSetSchema."""

    class WithKeys(IndexedCoinSetSchema):
        """See IndexedCoinSetSchema."""

    Plain.kind = WithKeys.kind = kind
    return Plain, WithKeys

"""What a coin set in an engine says of itself, in the layout interval and in any other."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from types import MappingProxyType
from typing import Any

from cdb.contract.durability import Durability
from cdb.contract.history import BY_NAME
from cdb.contract.limits import Limit
from cdb.contract.schema import AcceptsPacked, HistoryPacked, ReadsPacked, Settles
from cdb.contract.secondary_keys import PUZZLE_HASH
from cdb.contract.spec import ALL_DURABILITIES, SchemaSpec
from cdb.stores.coin_set.layouts import LAYOUTS
from cdb.stores.coin_set.schema import CoinSetSchema, Kind, open_coin_set


def _count(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise ValueError(f"'{text}' is no whole number from 1 to 999999999")
    return int(text)


OPTIONS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {"cache_mb": _count, "commit_entries": _count, "ingest_entries": _count}
)

SMALL_SIZES: Mapping[str, Any] = MappingProxyType({"commit_entries": 40, "ingest_entries": 15})
"""It commits so often that a short test reaches everything."""


def coin_set_spec(
    kind: Kind,
    *,
    durabilities: tuple[Durability, ...] = ALL_DURABILITIES,
    options: Mapping[str, Callable[[str], object]] = OPTIONS,
    limits: tuple[Limit | str, ...] = (),
    not_durable: tuple[str, ...] = (),
) -> SchemaSpec:
    """The layout interval in an engine. limits, not_durable: what the engine adds to them."""
    said = SchemaSpec(
        partial(open_coin_set, kind),
        durabilities=durabilities,
        options=options,
        missing=kind.engine.missing,
        is_asked_for=kind.engine.is_asked_for,
        versions=kind.versions,
        offers=(AcceptsPacked, ReadsPacked, Settles, HistoryPacked),
        history=BY_NAME,
        in_layout=partial(_in_layout, kind),
        limits=(*limits, "promise"),
        not_durable=not_durable,
        makes_own_calls=kind.engine.makes_own_calls,
        checksummed="db/(FORMAT|NEWEST)",
    )
    return _of_kind(said, kind, partial(open_coin_set, kind))


def _of_kind(said: SchemaSpec, kind: Kind, opened: Callable[..., CoinSetSchema]) -> SchemaSpec:
    return replace(
        said,
        factory=opened,
        small=partial(opened, **SMALL_SIZES),
        indexed=partial(opened, index=PUZZLE_HASH),
        check=kind.check,
        repair=kind.repair,
    )


def _in_layout(
    interval: Kind, said: SchemaSpec, name: str, options: Mapping[str, str]
) -> SchemaSpec:
    """The same for LAYOUT@ENGINE, with the options of the layout among those that are given.

    said: of the layout interval in that engine.
    """
    layout_name = name.partition("@")[0]
    layout = LAYOUTS[layout_name]
    kept = layout.text_of(options)
    plain = interval if layout_name == "interval" else interval._replace(name=name)
    kind = plain._replace(name=name + kept if kept else plain.name, layout=layout_name + kept)
    where = said.description.partition(":")[0] or f"Everything in {name}"
    described = replace(
        said,
        description=f"{where}: {layout.what}.",
        default_path=f"{name.replace('@', '_')}.cdb",
        options={**said.options, **layout.options},
        in_layout=None,
    )
    return _of_kind(described, kind, partial(_open, kind))


def _open(kind: Kind, path: str | PathLike[str], **options: Any) -> CoinSetSchema:
    """See open_coin_set(). Options of the layout are in its kind."""
    in_kind = LAYOUTS[kind.layout.partition(",")[0]].options
    others = {name: value for name, value in options.items() if name not in in_kind}
    return open_coin_set(kind, path, **others)

"""A schema LAYOUT@ENGINE, made of the module that has the layout interval in that engine."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

from cdb.coin_set.layouts import LAYOUTS
from cdb.coin_set.schema import CoinSetSchema, IndexedCoinSetSchema, Kind, open_coin_set
from cdb.damage import Damage
from cdb.disk.home import format_at
from cdb.disk.paths import located
from cdb.errors import CorruptDatabaseError
from cdb.indexed import PUZZLE_HASH
from cdb.progress import Progress


def schema_of(name: str, interval: ModuleType) -> ModuleType:
    """What the module of a schema has, for LAYOUT@ENGINE. interval: the module of that engine."""
    layout_name = name.partition("@")[0]
    layout = LAYOUTS[layout_name]
    kind = Kind(name, interval.KIND.engine, layout_name)
    plain = interval.KIND if layout_name == "interval" else kind
    opened = partial(open_in_layout, plain, kind)
    made = ModuleType(f"cdb.schemas.{name}", f"Everything in {name}: {layout.what}.")
    vars(made).update(
        {key: value for key, value in vars(interval).items() if key.isupper()},
        DEFAULT_PATH=f"{name.replace('@', '_')}.cdb",
        OPTIONS={**interval.OPTIONS, **layout.options},
        SCHEMA=opened,
        SMALL=partial(opened, commit_entries=40, ingest_entries=15),
        INDEXED=partial(opened, index=PUZZLE_HASH),
        check=partial(_check, plain, kind),
        repair=partial(_repair, plain, kind),
        missing=interval.missing,
        versions=interval.versions,
    )
    return made


def open_in_layout(
    plain: Kind, kind: Kind, path: str | PathLike[str], **options: Any
) -> CoinSetSchema:
    """Open a coin set, or make one, by a layout with options. See open_coin_set().

    plain: its kind without any; kind: what those with some begin with.
    """
    layout = LAYOUTS[kind.layout]
    mine = {name: options.pop(name) for name in layout.options if name in options}
    kept, others = layout.text_of(mine)
    named = kind._replace(name=kind.name + kept) if kept else plain
    return open_coin_set(
        *_schemas(named._replace(layout=kind.layout + kept + others)), path, **options
    )


@cache
def _schemas(kind: Kind) -> tuple[type[CoinSetSchema], type[IndexedCoinSetSchema]]:
    class Plain(CoinSetSchema):
        """See CoinSetSchema."""

    class WithKeys(IndexedCoinSetSchema):
        """See IndexedCoinSetSchema."""

    Plain.kind = WithKeys.kind = kind
    return Plain, WithKeys


def _kind_at(plain: Kind, kind: Kind, path: Path) -> Kind:
    """The kind with the options that FORMAT says; without any, where it says nothing of it."""
    try:
        found = format_at(located(path, read_only=True))
    except CorruptDatabaseError:
        return plain
    if found is None or not found.schema.startswith(f"{kind.name},"):
        return plain
    kept = found.schema.removeprefix(kind.name)
    return kind._replace(name=found.schema, layout=kind.layout + kept)


def _check(plain: Kind, kind: Kind, path: Path, progress: Progress) -> Iterator[Damage]:
    return _kind_at(plain, kind, path).check(path, progress)


def _repair(
    plain: Kind, kind: Kind, path: Path, damages: Sequence[Damage], progress: Progress
) -> None:
    _kind_at(plain, kind, path).repair(path, damages, progress)

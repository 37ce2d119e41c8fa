"""The experiment of layouts and engines below the coin set, in the shapes that were published.

Each layout in each engine is written, read, settled and read again; all answers are held against a
model of what was written (native/versioned/), and a wrong or missing one voids the row.
docs/benchmarks.md has the definitions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from cdb.bench.campaign import Data, Experiment, Note
from cdb.bench.case import Case, measure
from cdb.bench.results import Document, Kind
from cdb.bench.versioned.database import (
    CACHE_BYTES,
    CLOSED,
    NATIVE_ENGINES,
    NO_LAYOUTS,
    SETTLED,
    Files,
    Shape,
    missing,
)
from cdb.contract.durability import Durability
from cdb.lab.places import Place
from cdb.lab.process import Limits

_CANOPY_VERSIONS, _CANOPY_VALUE_BYTES, _FIVE_IN_100 = 50, 1024, 50_000
_PERIOD_BYTES = 32
_ALL = 1_000_000
SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        **{
            f"canopy-{keys // 1000}k{name}": Shape(
                keys, _CANOPY_VERSIONS, _CANOPY_VALUE_BYTES, period_bytes, _FIVE_IN_100
            )
            for keys in (10_000, 100_000)
            for name, period_bytes in (("", _PERIOD_BYTES), ("-random", 0))
        },
        "option-1": Shape(200_000, 4, 64, 0, _ALL),
        "messages": Shape(5_000, 20, 400, _PERIOD_BYTES, _ALL),
        "small-values": Shape(200_000, 5, 110, 0, _ALL),
    }
)
"""By name. How long Option 1's values were is not published; messages come 5,000 at once, until
there are 100,000, as Scuttlebutt's; small values are those of the notes on random reads."""
QUICK_SHARE = 10
"""A quick run has one in so many keys."""


def quick_shape(shape: Shape) -> Shape:
    """The same with few keys."""
    return shape._replace(keys=shape.keys // QUICK_SHARE)


def needed_bytes(shape: Shape) -> int:
    """What a database of this shape may take while it is settled, in any layout."""
    rows = shape.keys * (1 + (shape.versions - 1) * shape.rewritten_per_million / _ALL)
    return int(8 * rows * (shape.value_bytes + 64)) + (256 << 20)


def experiment(contestants: Sequence[str], shapes: Mapping[str, Shape]) -> Experiment:
    """Of LAYOUT@ENGINE, of layouts that may have options; shapes: by name."""
    engines = sorted({each.rpartition("@")[2] for each in contestants})
    there_are = [each for each in engines if missing(each) is None]
    return Experiment(
        kind=Kind.LAYOUTS,
        contestants={name: {} for name in contestants},
        sources={name: partial(_data, name, shape) for name, shape in shapes.items()},
        settings={"shapes": dict(shapes)},
        software={f"{each}_engine": NATIVE_ENGINES[each].version() for each in there_are},
    )


def _data(name: str, shape: Shape, directory: Path, note: Note) -> Data:
    """What is written is made while it is."""
    data = {"source": name, **shape._asdict(), "cache_bytes": CACHE_BYTES}
    facts = {"data": data, "durability": Durability.POWER.value}
    return Data(facts, needed_bytes(shape), partial(_run, shape))


def _run(
    shape: Shape, contestant: str, there: Place, before: Sequence[Document], note: Note
) -> list[Case]:
    layout, _, engine = contestant.rpartition("@")
    hindrance = NO_LAYOUTS.get(layout) or missing(engine)
    if hindrance is not None:
        return [Case.not_measured("write", {}, hindrance)]
    cases: list[Case] = []
    with TemporaryDirectory(dir=there.directory) as directory:
        files = Files(layout, engine, directory, shape)
        for what, after in (("write", ""), ("read", CLOSED), ("settle", ""), ("read", SETTLED)):
            note(what)
            made = measure(what, replace(files, after=after), Limits(there.join))
            cases += made
            if any(each.outcome == "failed" for each in made):
                break
    return cases

"""Two machines, profiles, commits or matrices beside each other, figure by figure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cdb.bench.results import Kind
from cdb.errors import CdbError
from cdb.report import units
from cdb.report.build import build
from cdb.report.model import Document, Group, Row, Setting, Spread, is_more_better
from cdb.report.parts import Heading, Items, Part, Table, Text
from cdb.report.tables import problem_lines, runs_text
from cdb.report.uses import conditions

NO_DIFFERENCE = "no difference shown"
NO_RANGE = "one run, no range"
_LEAST_COMMIT = 4
_KINDS: Mapping[str, tuple[str, Callable[[Document], str]]] = {
    "machine": ("machines", lambda each: str(each["machine"]["name"])),
    "profile": ("profiles", lambda each: str(each["profile"]["name"])),
    "matrix": ("matrices", lambda each: str(each["matrix"]["id"])),
    "commit": ("commits", lambda each: str(each["software"].get("git_commit") or "")),
}
"""What two names can be names of: in the plural, and where a result has it."""


class CompareError(CdbError):
    """There is nothing of that name, or nothing that two names have in common."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two. kind: what its name is the name of."""

    name: str
    kind: str
    groups: tuple[Group, ...]


def compare(documents: Sequence[Document], first: str, second: str) -> Iterator[Part]:
    """A document: all figures that both have, with the second's as ratios to the first's.

    Raises CompareError, at once.
    """
    runs = [each for each in documents if each["kind"] == Kind.SCHEMAS]
    one, other = _side(runs, first), _side(runs, second)
    pairs = _pairs(one, other)
    if not pairs:
        problem = f"{first} and {second} have no coins, durability and flush interval in common"
        raise CompareError(f"{problem} that both were measured with")
    return _document(one, other, pairs)


def _side(documents: Sequence[Document], name: str) -> Side:
    for kind, (_, name_of) in _KINDS.items():
        found = [each for each in documents if _is(kind, name_of(each), name.lower())]
        if found:
            return Side(name, kind, build(found).groups)
    raise CompareError(f"no {name} among the results; {_names(documents)}")


def _is(kind: str, actual: str, name: str) -> bool:
    if kind == "commit":
        return len(name) >= _LEAST_COMMIT and actual.startswith(name)
    return actual.lower() == name


def _names(documents: Sequence[Document]) -> str:
    """What could have been asked for."""
    told = []
    for several, name_of in _KINDS.values():
        names = sorted({name_of(document)[:40] for document in documents} - {""})
        told.append(f"{several}: {', '.join(names) or 'none'}")
    return "; ".join(told)


def _pairs(one: Side, other: Side) -> list[tuple[Group, Group]]:
    kinds = {one.kind, other.kind}
    partners = {_common(group.setting, kinds): group for group in other.groups}
    common = [(group, partners.get(_common(group.setting, kinds))) for group in one.groups]
    return [(group, partner) for group, partner in common if partner is not None]


def _common(setting: Setting, kinds: set[str]) -> Setting:
    """The setting without what the two sides may differ in."""
    if "machine" in kinds:
        setting = replace(setting, machine="")
    if "profile" in kinds:
        setting = replace(setting, profile="", limits=())
    return setting


def _document(one: Side, other: Side, pairs: Sequence[tuple[Group, Group]]) -> Iterator[Part]:
    yield Heading(1, f"{one.name} and {other.name}")
    yield Text(
        f"Medians, and {other.name} / {one.name}. Where the ranges from min to max overlap, there "
        f"is {NO_DIFFERENCE}."
    )
    for first, second in pairs:
        yield Heading(2, _title(first.setting, second.setting))
        yield Text(f"{one.name}: {runs_text(first)}; {other.name}: {runs_text(second)}.")
        yield _table(one.name, other.name, first, second)
        problems = [
            f"{side.name}: {line}"
            for side, group in ((one, first), (other, second))
            for line in problem_lines(group)
        ]
        if problems:
            yield Items(tuple(problems))


def _title(first: Setting, second: Setting) -> str:
    machines = " and ".join(dict.fromkeys((first.machine, second.machine)))
    profiles = " and ".join(dict.fromkeys((first.profile, second.profile)))
    return f"{machines}, {conditions(replace(first, profile=profiles))}"


def _table(one: str, other: str, first: Group, second: Group) -> Table:
    rows = [cells for row, partner in _rows(first, second) for cells in _lines(row, partner)]
    header = ("schema", "workload", "figure", one, other, f"{other} / {one}", f"{other} is")
    return Table.of_texts("", header, rows, words=3)


def _rows(first: Group, second: Group) -> Iterator[tuple[Row, Row]]:
    partners = {row.schema: row for row in second.lines}
    for row in first.lines:
        if row.schema in partners:
            yield row, partners[row.schema]


def _lines(row: Row, partner: Row) -> Iterator[tuple[str, ...]]:
    for case, figures in row.figures.items():
        for name, spread in figures.items():
            other = partner.figure(case, name)
            if other is not None:
                texts = (spread.median_text(name), other.median_text(name))
                change = (_ratio(spread, other), verdict(name, spread, other))
                yield (row.schema, str(case), units.label(name), *texts, *change)


def verdict(name: str, spread: Spread, other: Spread) -> str:
    """What the second is against the first: better, worse, or not shown to be either."""
    if 1 in (spread.runs, other.runs):
        return NO_RANGE
    if spread.overlaps(other):
        return NO_DIFFERENCE
    is_better = (other.median > spread.median) == is_more_better(name)
    return "better" if is_better else "worse"


def _ratio(spread: Spread, other: Spread) -> str:
    if spread.median == 0:
        return "–"
    ratio = other.median / spread.median
    return f"×{units.number(ratio)}"

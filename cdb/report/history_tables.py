"""The tables of a group's history: what it costs to ask of coins as of a height."""

from collections.abc import Iterator

from cdb.report.model import Case, Group
from cdb.report.tables import Column, FigureTable, Notes, figure_table

_LATENCY: Notes = (
    ("call", ("call_p50_microseconds", "call_p99_microseconds", "call_max_microseconds")),
)
_PLAIN: Notes = (("× plain", ("plain_ratio",)),)
_PAGES: Notes = (("pages read for a name", ("pages_per_name",)),)
_SCAN: Notes = (
    ("rows", ("rows",)),
    ("first page", ("first_page_microseconds",)),
    ("pages read for a row", ("pages_per_row",)),
)
_FORMS = ("packed", "objects")
_HEIGHTS = ("tip", "tip - 1", "tip - 10", "creation", "spend")
_PLACES = ("start", "middle", "tip")
_AROUND = {"creation": "around creation", "spend": "around the spend"}


def history_tables(group: Group) -> Iterator[FigureTable]:
    """By name in each form, then all coins, versions, and the memory of scans."""
    for form in _FORMS:
        yield from _by_name(group, form)
    yield from _scans(group)
    yield from _versions(group)
    yield from _memory(group)


def _by_name(group: Group, form: str) -> Iterator[FigureTable]:
    def case(**others: str | int) -> Case:
        usual: dict[str, str | int] = {"names": "existing", "batch": 1000, "height": "random"}
        way = {"cache": "warm", "state": "settled", "form": form}
        return Case.of("historical", usual | way | others)

    def beside_plain(label: str, asked: Case) -> Iterator[Column]:
        yield Column(label, asked, "names_per_second", _LATENCY)
        yield Column("× plain", asked, "plain_ratio", compared=False)

    yield from figure_table(
        group,
        f"Names as of a random height · {form}",
        [
            *beside_plain("one by one", case(batch=1)),
            *beside_plain("in 100s", case(batch=100)),
            *beside_plain("in 1,000s", case()),
            *beside_plain("absent, in 1,000s", case(names="absent")),
        ],
    )
    yield from figure_table(
        group,
        f"Names in 1,000s, by height · {form}",
        [
            Column(
                _AROUND.get(height, height),
                case(height=height),
                "names_per_second",
                (*_PLAIN, *_LATENCY),
            )
            for height in _HEIGHTS
        ],
    )
    yield from figure_table(
        group,
        f"Names as of a height, unsettled and cold · {form}",
        [
            *beside_plain("unsettled, in 1,000s", case(state="unsettled")),
            *beside_plain("unsettled, absent", case(names="absent", state="unsettled")),
            *(
                Column(
                    label,
                    case(batch=n, cache="cold", height="half"),
                    "names_per_second",
                    (*_LATENCY, *_PAGES),
                )
                for n, label in ((1, "cold, one by one"), (1000, "cold, in 1,000s"))
            ),
        ],
    )


def _scans(group: Group) -> Iterator[FigureTable]:
    columns = [
        *((f"unspent(), {form}", _unspent(form)) for form in _FORMS),
        *((f"at the tip, {form}", _state(form)) for form in _FORMS),
        *((f"at a tenth, {form}", _state(form, height="tenth")) for form in _FORMS),
        *((f"at the tip, cold, {form}", _state(form, cache="cold")) for form in _FORMS),
    ]
    yield from figure_table(
        group,
        "All coins: unspent(), and state_at() the tip and a tenth of its height: rows/s",
        [Column(label, case, "rows_per_second", _SCAN) for label, case in columns],
    )


def _versions(group: Group) -> Iterator[FigureTable]:
    for form in _FORMS:
        for caption, windows in (("1 and 100", (1, 100)), ("10,000 and all", (10_000, "all"))):
            cases = [
                Case.of("archival", {"heights": heights, "place": place, "form": form})
                for heights in windows
                for place in _PLACES
            ]
            yield from figure_table(
                group,
                f"versions() of {caption} heights: rows/s · {form}",
                [
                    Column(_window(case), case, "rows_per_second", (("rows", ("rows",)), *_LATENCY))
                    for case in cases
                ],
            )


def _window(case: Case) -> str:
    heights, place = case.parameter("heights"), case.parameter("place")
    return "all" if heights == "all" else f"{heights:,}, {place}"


def _memory(group: Group) -> Iterator[FigureTable]:
    all_versions = {"heights": "all", "place": "start"}
    columns = [
        (f"{what}, {form}", case)
        for form in _FORMS
        for what, case in (
            ("unspent()", _unspent(form)),
            ("state_at()", _state(form)),
            ("versions()", Case.of("archival", {**all_versions, "form": form})),
        )
    ]
    yield from figure_table(
        group,
        "Memory of a scan, above the open database",
        [Column(label, case, "memory_bytes", compared=False) for label, case in columns],
    )


def _unspent(form: str) -> Case:
    return Case.of("latest", {"form": form})


def _state(form: str, height: str = "tip", cache: str = "warm") -> Case:
    return Case.of(
        "historical", {"scan": "state_at", "height": height, "cache": cache, "form": form}
    )

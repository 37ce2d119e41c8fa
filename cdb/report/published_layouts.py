"""Two published comparisons of key layouts: their figures, and what was wrong with them.

Facts and figures are theirs, from "Canopy Storage Benchmark" and from "Pebble Option 1 Integration
Test Results"; which machine it was, neither says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cdb.report.model import Case

CANOPY, OPTION_1 = "Canopy Storage Benchmark", "Pebble Option 1 Integration Test Results"
BADGER = "Badger"
"""Their reference, which has no layout."""
FEATURES, PLAIN = "features on", "features off"


@dataclass(frozen=True, slots=True)
class Flaw:
    """What was wrong. short: in a cell; line: in a sentence or two, with its source."""

    short: str
    line: str


WRONG_SIDE = Flaw(
    "seeks the wrong side",
    "Seeks the wrong side (MonoSpace, DualTimeline): the newest version lies first, and they seek "
    "the last key before that of the version behind the one asked for, which is a newer one or "
    "another key. Of rewritten keys no get was right at any height; with features off all 10,000 "
    "gets of the historical workload were errors, and the harness dropped them. "
    "cdb bench engines --layout mono_space,reads=published reads so, and is voided.",
)
FIRST_KEY = Flaw(
    "seeks the wrong side; iterator kept to its first key",
    "Iterator kept to its first key (DualTimeline, features on): the one that is used again for a "
    "height has the bounds of the key that it was made for, and finds no other.",
)
NO_SYNC = Flaw(
    "not synced",
    "Not synced (DualTimeline): its commits are NoSync, where those of Badger wait for the disk. "
    "Here each version is one commit that survives power loss, and the disk's flushes are counted.",
)
DELTA = Flaw(
    "a delta for a state",
    "A delta for a state (Option 1): the historical scan reads what block h changed. That is the "
    "state only because their workload rewrites every key in every version. Here it is the state: "
    "the newest values, and for those that came later a way down the log, one block after the "
    "other, as a log in the order of heights has no seek by key.",
)
IN_MEMORY = Flaw(
    "files in memory",
    "Files in memory (Option 1): what its runs call durable commits went to file systems in "
    "memory.",
)
NEIGHBOUR = Flaw(
    "no check of the key; lists all keys first",
    "No check of the key (Issue-196): what lies before the key that is sought is taken whatever "
    "key it is of, so that an absent key gives its neighbour's value. Before it seeks each key it "
    "lists them all, and it reads with the log off.",
)
ARITHMETIC = Flaw(
    "12 times, not 5",
    "12 times, not 5 (Option 1's stress test, 100,000 keys with 50 versions, values of unknown "
    "size): 3,241 ms of Badger against 264 ms are 12.3 times; the text says about 5.",
)


@dataclass(frozen=True, slots=True)
class Published:
    """A time. layout: its name here; how: what else tells it from others. case: what it is here."""

    layout: str
    what: str
    how: str
    seconds: float
    case: Case
    flaw: Flaw | None


@dataclass(frozen=True, slots=True)
class PublishedShape:
    """All of a shape, so many keys and versions, and what was wrong beside that."""

    source: str
    keys: int
    versions: int
    times: tuple[Published, ...]
    flaws: tuple[Flaw, ...] = ()

    def lines(self) -> tuple[str, ...]:
        """What was wrong, each once."""
        flaws = [each.flaw for each in self.times if each.flaw is not None]
        # The iterator's words in a cell name both; its line is its own.
        more = [WRONG_SIDE] if FIRST_KEY in flaws else []
        return tuple(dict.fromkeys(flaw.line for flaw in (*more, *flaws, *self.flaws)))


def _read(workload: str, **parameters: str) -> Case:
    named = {name.replace("_", " "): value for name, value in parameters.items()}
    return Case.of(workload, {**named, "after": "close"})


_LATEST, _ARCHIVAL = _read("latest"), _read("archival")
_GETS = _read("historical", as_of="the newest version")
_STATE = _read("state", as_of="the middle version")
_CASES = (("latest", _LATEST), ("historical", _GETS), ("archival", _ARCHIVAL))
_WRITE = Case("write")
_CANOPY_MS: Mapping[str, Mapping[tuple[str, str], tuple[float, float, float, float]]] = {
    "canopy-10k": {
        (BADGER, FEATURES): (12.4, 18.8, 25.0, 967),
        ("mono_space", FEATURES): (2.6, 6.5, 8.6, 444),
        ("dual_timeline", FEATURES): (1.4, 3.9, 7.6, 438),
        (BADGER, PLAIN): (13.2, 20.5, 32.1, 1010),
        ("mono_space", PLAIN): (1.3, 5.0, 8.9, 450),
        ("dual_timeline", PLAIN): (33.9, 56.1, 32.4, 530),
    },
    "canopy-100k": {
        (BADGER, FEATURES): (185.9, 326.7, 347.5, 11_480),
        ("mono_space", FEATURES): (128.0, 268.4, 289.9, 5080),
        ("dual_timeline", FEATURES): (134.4, 306.5, 469.8, 5910),
        (BADGER, PLAIN): (178.6, 460, 343.7, 10_870),
        ("mono_space", PLAIN): (97.9, 240, 231.1, 4700),
        ("dual_timeline", PLAIN): (667.0, 1310, 538.8, 5210),
    },
}
"""Latest, historical, archival and writing, in milliseconds."""


def _canopy(shape: str) -> PublishedShape:
    told = _CANOPY_MS[shape].items()
    reads = [
        Published(layout, what, how, ms[n] / 1e3, case, _flaw_of_read(layout, what, how))
        for n, (what, case) in enumerate(_CASES)
        for (layout, how), ms in told
    ]
    writes = [
        Published(
            layout,
            "write",
            how,
            ms[-1] / 1e3,
            _WRITE,
            NO_SYNC if layout == "dual_timeline" else None,
        )
        for (layout, how), ms in told
    ]
    keys = 100_000 if shape == "canopy-100k" else 10_000
    return PublishedShape(CANOPY, keys, 50, (*reads, *writes))


def _flaw_of_read(layout: str, what: str, how: str) -> Flaw | None:
    if layout == BADGER or (layout, what) == ("dual_timeline", "latest"):
        return None
    if (layout, what, how) == ("dual_timeline", "historical", FEATURES):
        return FIRST_KEY
    return WRONG_SIDE


PUBLISHED: Mapping[str, PublishedShape] = MappingProxyType(
    {
        **{shape: _canopy(shape) for shape in _CANOPY_MS},
        "option-1": PublishedShape(
            OPTION_1,
            200_000,
            4,
            (
                Published("option_1", "latest", "a scan", 25.160814e-3, _LATEST, IN_MEMORY),
                Published("option_1", "historical", "a scan", 23.279879e-3, _STATE, DELTA),
                Published("issue_196", "latest", "a seek a key", 391.614396e-3, _GETS, NEIGHBOUR),
            ),
            (ARITHMETIC,),
        ),
    }
)
"""By the shape's name in cdb bench engines."""


def published_of(name: str, shape: Mapping[str, float]) -> PublishedShape | None:
    """What was published of a shape of this name; None where it has other numbers."""
    found = PUBLISHED.get(name)
    asked = (shape.get("keys"), shape.get("versions"))
    return found if found is not None and (found.keys, found.versions) == asked else None

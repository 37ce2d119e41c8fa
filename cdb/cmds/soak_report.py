"""What a soak has done: tallied, as a JSON document, and drawn as Markdown."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from cdb.bench.matrix import timestamp
from cdb.cmds.table import table
from cdb.contract.limits import WRONG
from cdb.disk.files import write_output
from cdb.errors import CdbError
from cdb.report.units import duration
from cdb.testing.faults.attempt import Untried
from cdb.testing.faults.calls import INTERFERENCES
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.damage import WAYS
from cdb.testing.faults.soak import Result
from cdb.testing.faults.subjects import all_subjects

VERSION = 1
SHOWN_FAILURES = 20
NONE = "–"
COUNTS = {
    "trials": "trials",
    "points": "points",
    "replayed_cuts": "cuts by replay",
    "real_cuts": "real cuts",
    "kills": "kills",
    "failed_calls": "failed calls",
    "limited": "at known limits",
    "failed": "unexplained failures",
}

_LEGEND = {
    "detected": "verify finds the damage, and each answer is right or an error",
    "refused": "verify is silent, and an answer is an error",
    "harmless": "verify is silent, and every answer is right: the bytes are nobody's",
    "served": "an answer is wrong, and verify finds the damage",
    "unseen": "an answer is wrong, and verify is silent",
    "died": "the process that asks dies or hangs",
}
"""What comes of a damaged file; see cdb.testing.faults.damaged_reads."""
_DAMAGE = frozenset({*WAYS, "fuzz"})
_WRONG = (*WRONG, "died")
_WRONG_IS = (
    "served, unseen and died are limits of the engine beneath, which are known and counted here;"
    " where none explains it, the trial is an unexplained failure"
)

Document = dict[str, Any]


@dataclass
class Tally:
    """What was tried: trials, of them those that ended at a known limit or failed, and Coverage."""

    trial: str
    schema: str
    trials: int = 0
    points: int = 0
    databases: int = 0
    seconds: float = 0.0
    limited: int = 0
    failed: int = 0
    found: dict[str, int] = field(default_factory=dict)


class SoakReport:
    """Takes in results. settings: what is the same for the whole soak, as the document has it."""

    def __init__(self, settings: Document) -> None:
        self._settings = settings
        self._left_out: list[Document] = []
        self._tallies: dict[tuple[str, str], Tally] = {}
        self._failures: list[Document] = []
        self._begun = timestamp()
        self._since = monotonic()

    @property
    def seconds(self) -> float:
        """How long it has gone."""
        return monotonic() - self._since

    def leave_out(self, reason: str, *, trial: str | None = None, schema: str | None = None) -> str:
        """Say why a kind, a schema, or a pair of them is not tried. Returns it as a line."""
        left_out = {"trial": trial, "schema": schema, "reason": reason}
        self._left_out.append(left_out)
        return f"left out: {_place(left_out)}: {reason}"

    def take(self, result: Result) -> str | None:
        """Add how an attempt ended. Returns what is to be told at once, if anything is."""
        attempt, verdict, limit = result.attempt, result.verdict, result.limit
        place = {"trial": attempt.trial, "schema": result.schema}
        if isinstance(verdict, Untried):
            return self.leave_out(verdict.reason, **place)
        key = attempt.trial, result.schema
        tally = self._tallies.setdefault(key, Tally(*key))
        tally.trials += 1
        tally.seconds += result.seconds
        if isinstance(verdict, Coverage):
            tally.points += verdict.points
            tally.databases += verdict.databases
            for what, count in verdict.found.items():
                tally.found[what] = tally.found.get(what, 0) + count
            return None
        reason = None if limit is None else limit.reason
        failure = {
            **place,
            "seed": attempt.seed,
            "problem": verdict.problem,
            "command": verdict.command,
            "said": verdict.said,
            "limit": reason,
        }
        self._failures.append(failure)
        tally.limited += limit is not None
        tally.failed += limit is None
        return _failure(failure) if limit is None else None

    @property
    def totals(self) -> dict[str, int]:
        """Counts over everything."""
        return _totals(map(asdict, self._tallies.values()))

    def document(self, state: str) -> Document:
        """All of it. state: running, ended or interrupted."""
        return {
            "soak": VERSION,
            "state": state,
            "begun": self._begun,
            "written": timestamp(),
            "seconds": round(self.seconds, 1),
            **self._settings,
            "left_out": self._left_out,
            "totals": self.totals,
            "tallies": [asdict(tally) for tally in self._tallies.values()],
            "failures": self._failures,
        }


def write_report(path: Path, document: Document) -> None:
    """Write it in one step, durably. Raises StorageError."""
    write_output(path, (json.dumps(document, indent=1) + "\n").encode())


# What a file of any contents may raise.
_NO_REPORT = ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError


def read_markdown(path: Path) -> str:
    """The report in a file as Markdown. Raises CdbError when it is none."""
    try:
        document = json.loads(path.read_bytes())
        if document["soak"] != VERSION:
            raise CdbError(f"{path} is of another version of cdb soak: {document['soak']}")
        return markdown(document)
    except _NO_REPORT as error:
        raise CdbError(f"{path} is no report of cdb soak; those are written by --report") from error


def markdown(document: Document) -> str:
    """The document as a table and lists."""
    known = [each for each in document["failures"] if each["limit"] is not None]
    failed = [each for each in document["failures"] if each["limit"] is None]
    lists = {
        "What came of other faults, all schemas together": _found(document["tallies"]),
        "Known limits": _reasons(known, "limit"),
        "Left out": _reasons(document["left_out"], "reason"),
        "Failures": [_failure(each) for each in failed[:SHOWN_FAILURES]],
    }
    parts = [_points(document), schemas_markdown(document), _summary(document)]
    parts += _damage(document)
    for title, lines in lists.items():
        if lines:
            parts += [f"{title}:", "\n".join(f"- {line}" for line in lines)]
    if len(failed) > SHOWN_FAILURES:
        parts.append(f"… and {len(failed) - SHOWN_FAILURES:,} more failures")
    return "\n\n".join(parts)


def counts_text(totals: Mapping[str, int]) -> str:
    """SoakReport.totals in words, on one line."""
    return ", ".join(f"{totals[name]:,} {text}" for name, text in COUNTS.items())


def schemas_markdown(document: Document) -> str:
    """The totals of each schema."""
    rows = []
    for schema in _tried(document):
        totals = _totals(each for each in document["tallies"] if each["schema"] == schema)
        rows.append([schema, *(f"{count:,}" for count in totals.values())])
    return _markdown_table(["schema", *COUNTS.values()], rows)


def _totals(tallies: Iterable[Document]) -> dict[str, int]:
    totals = dict.fromkeys(COUNTS, 0)
    for tally in tallies:
        for name in ("trials", "points", "limited", "failed"):
            totals[name] += tally[name]
        group = _group(tally["trial"])
        if group is not None:
            totals[group] += tally["points"]
    return totals


def _tried(document: Document) -> list[str]:
    tried = {each["schema"] for each in document["tallies"]}
    return [schema for schema in document["schemas"] if schema in tried]


def _points(document: Document) -> str:
    """A line a kind, a column a schema."""
    tallies = {(each["trial"], each["schema"]): _cell(each) for each in document["tallies"]}
    schemas = _tried(document)
    rows = [
        [trial, *(tallies.get((trial, schema), NONE) for schema in schemas)]
        for trial in dict.fromkeys(trial for trial, _ in tallies)
    ]
    return _markdown_table(["points", *schemas], rows)


def _cell(tally: Document) -> str:
    limited = f" ({tally['limited']})" if tally["limited"] else ""
    failed = f" {tally['failed']} failed" if tally["failed"] else ""
    return f"{tally['points']:,}{limited}{failed}"


def _summary(document: Document) -> str:
    length = (
        f"{duration(document['seconds'])}, {document['state']}, seeds from {document['seed']} on"
    )
    line = f"{length}: {counts_text(document['totals'])}."
    if document["totals"]["limited"]:
        line += "\nIn brackets: trials that ended early, at a known limit."
    return line


def _damage(document: Document) -> list[str]:
    """What came of damaged files: what the words mean, a line for each schema, and why answers of
    it may be wrong."""
    counts: dict[str, Counter[str]] = {}
    for tally in document["tallies"]:
        if _is_of_damage(tally):
            counts.setdefault(tally["schema"], Counter()).update(tally["found"])
    if not counts:
        return []
    legend = [f"- {outcome}: {meaning}" for outcome, meaning in _LEGEND.items()]
    outcomes = [each for each in _LEGEND if any(found[each] for found in counts.values())]
    rows = [
        [schema, *(f"{counts[schema][each]:,}" for each in outcomes)]
        for schema in _tried(document)
        if schema in counts
    ]
    reasons = [
        f"- {schema}: {reason}"
        for schema, found in counts.items()
        if any(found[each] for each in _WRONG)
        for reason in known_reasons(schema)
    ]
    why = ["Why answers may be wrong:", "\n".join(reasons)] if reasons else []
    return [
        "Damaged files, by what came of them:",
        "\n".join([*legend, f"- {_WRONG_IS}"]),
        _markdown_table(["schema", *outcomes], rows),
        *why,
    ]


def known_reasons(schema: str) -> list[str]:
    """Which damage a schema's engine is known to let through, with its files."""
    subject = all_subjects().get(schema)
    limits = [] if subject is None else subject.limits
    return [each.reason for each in limits if {*WRONG} & {*each.outcomes}]


def _is_of_damage(tally: Document) -> bool:
    return tally["trial"] in _DAMAGE


def _found(tallies: Iterable[Document]) -> list[str]:
    """A line a kind: what came of its faults, of all schemas together; but for damage."""
    kinds: dict[str, Counter[str]] = {}
    for tally in tallies:
        if not _is_of_damage(tally):
            kinds.setdefault(tally["trial"], Counter()).update(tally["found"])
    return [
        f"{trial}: " + ", ".join(f"{count:,} {what}" for what, count in found.most_common())
        for trial, found in kinds.items()
        if found
    ]


def _reasons(entries: Iterable[Document], field: str) -> list[str]:
    """A line for each that is different, and how often it comes."""
    counts = Counter(f"{_place(entry)}: {entry[field]}" for entry in entries)
    return [line if count == 1 else f"{line} ({count:,} times)" for line, count in counts.items()]


def _failure(failure: Document) -> str:
    """Which schema, which seed, what, and the command that does it again."""
    what = f"{_place(failure)}, seed {failure['seed']}: {failure['problem']}"
    return f"{what}\n  again: {failure['command']}"


def _place(entry: Document) -> str:
    return ", ".join(each for each in (entry["schema"], entry["trial"]) if each)


def _markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The first column is of words, the others of figures."""
    rule = ["---"] + ["--:"] * (len(header) - 1)
    lines = [
        [cell for each in row for cell in ("|", each)] + ["|"] for row in [header, rule, *rows]
    ]
    return table(lines, left=frozenset({0, 1}))


def _group(trial: str) -> str | None:
    """Which points of COUNTS it makes."""
    if trial in INTERFERENCES and INTERFERENCES[trial].fails:
        return "failed_calls"
    beginnings = {"power-": "replayed_cuts", "cut-": "real_cuts", "kill": "kills"}
    return next((group for start, group in beginnings.items() if trial.startswith(start)), None)

"""What all comparisons of a node's coin stores are: rounds in one place, and one document."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

from cdb.bench.document import described
from cdb.bench.machine import load_average
from cdb.bench.matrix import timestamp
from cdb.bench.node_rounds import differing_answers
from cdb.bench.results import NODE, VERSION, Document
from cdb.bench.rounds import Note
from cdb.lab.places import Place, place
from cdb.lab.process import WrongAnswerError
from cdb.lab.profile import Profile


@dataclass(frozen=True, slots=True)
class Setting:
    """Where to measure, and how often. command: what measures the same again."""

    runs: int
    profile: Profile
    parent: Path
    machine: str | None
    command: str
    note: Note


def measured(
    setting: Setting,
    size_bytes: int,
    rounds: Callable[[Place], Iterable[Document]],
    more: Document,
) -> Document:
    """The document of the rounds that are made in a place with room for so much.

    more: what else it says. Raises NotMeasuredError where the profile can't be had, and
    WorkloadError where a store fails, or the two don't answer the same.
    """
    begun, start = timestamp(), perf_counter()
    with place(setting.profile, setting.parent, size_bytes) as there:
        facts = described(setting.profile, there, setting.machine)
        made = [*rounds(there)]
    problem = differing_answers(made)
    if problem is not None:
        raise WrongAnswerError(problem)
    facts["software"]["chia_version"] = version("chia-blockchain")
    return {
        "kind": NODE,
        "version": VERSION,
        "command": setting.command,
        "runs": setting.runs,
        "begun": begun,
        "seconds": perf_counter() - start,
        **facts,
        **more,
        "rounds": made,
    }


def round_of(store: str, run: int, measure: Callable[[], list[Any]]) -> Document:
    """A store's round, the first of which is 0, with the cases that it measures."""
    before, cases = load_average(), measure()
    return {
        "store": store,
        "run": run + 1,
        "load_average_before": before,
        "load_average_after": load_average(),
        "cases": cases,
    }

"""Puts together the document of one run: what result.schema.json says."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from cdb.bench.machine import machine_facts
from cdb.bench.matrix import Cell, Matrix
from cdb.bench.results import VERSION, Document
from cdb.bench.software import software_versions
from cdb.bench.truth import Truth
from cdb.bench.workload import Case, Database
from cdb.lab.places import Place
from cdb.lab.profile import Profile


@dataclass(frozen=True, slots=True)
class Clock:
    """When a run began, in UTC, how long it took, and how busy the machine was around it."""

    begun: str
    seconds: float
    load_average_before: float | None
    load_average_after: float | None


def described(profile: Profile, place: Place, machine: str | None) -> Document:
    """Where it was measured and with what; the place's disk is measured for some seconds.

    machine: its name, where it is to have another than its own.
    """
    facts = asdict(machine_facts(place.directory))
    del facts["mount_point"]  # a directory's name is its owner's
    return {
        "profile": asdict(profile) | {"measured": asdict(place.measured) if place.measured else {}},
        "machine": facts | ({"name": machine} if machine else {}),
        "software": software_versions(),
    }


class Surroundings:
    """What is the same for all runs in one place."""

    def __init__(self, matrix: Matrix, profile: Profile, place: Place, machine: str | None) -> None:
        self._matrix = matrix
        self._described = described(profile, place, machine)

    def document(
        self, cell: Cell, database: Database, clock: Clock, cases: Iterable[Case]
    ) -> Document:
        """The document of a run in this place."""
        info = database.info
        return {
            "version": VERSION,
            "matrix": self._matrix.head(),
            "run": cell.run,
            "begun": clock.begun,
            "seconds": clock.seconds,
            "schema": {
                "name": cell.schema,
                "description": info.description,
                "keeps_contract": info.spec.keeps_contract,
            },
            **self._described,
            "replay": _replay(cell.source, database.truth),
            "durability": database.durability,
            "flush_coins": database.flush_coins,
            "load_average_before": clock.load_average_before,
            "load_average_after": clock.load_average_after,
            "cases": [asdict(case) for case in cases],
        }


def _replay(source: str, truth: Truth) -> dict[str, Any]:
    return {
        "source": source,
        "blocks": truth.blocks,
        "coins": truth.coins,
        "spends": truth.spends,
        "newest_index": truth.newest_index,
        "digest": truth.digest,
    }

"""cdb's own schemas as trials take them: with small memtables; and what is known of any schema."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from cdb.contract.durability import Durability
from cdb.contract.limits import Finding, Limit
from cdb.errors import SchemaError
from cdb.schemas.registry import OWN_SCHEMAS, SchemaInfo, find_schema, names_at_paths
from cdb.testing.faults.known import KNOWN


def shown(limits: Iterable[Limit], trial: str, finding: Finding) -> Limit | None:
    """The first of the limits that a failed trial shows; None where it shows none of them."""
    return next((limit for limit in limits if limit.explains(trial, finding)), None)


@dataclass(frozen=True)
class Subject:
    """A schema under trial. spec: as a process can find it. seed: one whose script merges runs.

    limits, checksummed, not_durable: see cdb.schemas.registry.
    """

    spec: str
    seed: int = 1
    limits: tuple[Limit, ...] = ()
    checksummed: str = ""
    not_durable: tuple[str, ...] = ()

    @classmethod
    def of(cls, schema: SchemaInfo, spec: str, level: Durability, seed: int = 1) -> "Subject":
        """A schema with what is known of its engine at a level. Raises SchemaError."""
        limits = tuple(each for each in _known(schema) if each.durability in (None, level))
        return cls(spec, seed, limits, schema.spec.checksummed, schema.spec.not_durable)

    def limit(self, trial: str, finding: Finding) -> Limit | None:
        """The known limit that a failed trial shows, if it is one."""
        return shown(self.limits, trial, finding)


def _known(schema: SchemaInfo) -> Iterator[Limit]:
    for each in schema.spec.limits:
        if isinstance(each, Limit):
            yield each
        elif each in KNOWN:
            yield from KNOWN[each]
        else:
            names = ", ".join(f"'{name}'" for name in KNOWN)
            problem = f"its limits name '{each}', and the trials know {names}"
            raise SchemaError(f"schema {schema.name}: {problem}")


_PROCESS_LEVEL = "cdb.testing.faults.process_level"
_MERGING = {
    "sqlite_row": ("cdb.testing.faults.merging:SQLITE_ROW", 12),
    "flat_file": ("cdb.testing.faults.merging:FLAT_FILE", 12),
}
"""Where it takes more than the small twin to merge runs: what is tried, and a seed that does."""


def _subjects() -> Iterator[tuple[str, Subject]]:
    """Each of cdb's schemas, and at PROCESS, too, where it offers that."""
    for name in names_at_paths(OWN_SCHEMAS):
        found = find_schema(name)
        if not found.spec.keeps_contract:
            continue
        spec, seed = _MERGING.get(name, (found.small or name, 1))
        yield name, Subject.of(found, spec, found.spec.durabilities[0], seed)
        if Durability.PROCESS in found.spec.durabilities[1:]:
            at_process = f"{_PROCESS_LEVEL}:{name}"
            yield f"{name}-process", Subject.of(found, at_process, Durability.PROCESS, seed)


def _variants() -> Iterator[tuple[str, Subject]]:
    """Large: with small runs a checkpoint follows on each pack, and syncs it; there a flush or a
    close does."""
    coin_log = dict(_subjects())["coin_log"]
    yield "coin_log-keys", replace(coin_log, spec="cdb.testing.faults.keyed:COIN_LOG")
    yield "coin_log-large", replace(coin_log, spec="coin_log")
    rocks_kv = dict(_subjects())["rocks_kv"]
    yield "rocks_kv-keys", replace(rocks_kv, spec="cdb.testing.faults.keyed:ROCKS_KV")


@cache
def all_subjects() -> Mapping[str, Subject]:
    """What is tried, by its name."""
    return {**dict(_subjects()), **dict(_variants())}


def subject_of(spec: str) -> Subject:
    """The subject of a spec: one of cdb's own, or as its module says."""
    for each in all_subjects().values():
        if each.spec == spec:
            return each
    try:
        found = find_schema(spec)
    except SchemaError:  # whoever opens it is told
        return Subject(spec)
    return Subject.of(found, spec, found.spec.durabilities[0])

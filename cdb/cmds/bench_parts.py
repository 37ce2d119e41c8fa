"""What a bench command is to compare, part by part, and the tables that it prints."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cdb.bench.comparison import Comparison, compare
from cdb.bench.plan import Plan
from cdb.bench.process import WorkloadError
from cdb.bench.run import truth_of
from cdb.bench.truth import Truth
from cdb.cmds.bench_options import BenchOptions, Source, note, workplaces
from cdb.cmds.bench_tables import afterwards_table, growth_table, heading, load_table, problems
from cdb.cmds.echo import echo


@dataclass(frozen=True, slots=True)
class Part:
    """Schemas to compare on one replay; only the floor, where there are none.

    runs: those of the command's options, unless it says others.
    """

    source: Source
    schemas: tuple[str, ...] = ()
    afterwards: bool = False
    runs: int | None = None

    def plan(self, plan: Plan) -> Plan:
        """What is to be done of it, by a plan for its replay."""
        return replace(
            plan,
            schemas=self.schemas,
            afterwards=self.afterwards,
            runs=self.runs or plan.runs,
        )


def compare_all(parts: Sequence[Part], options: BenchOptions) -> None:
    """Compare and print part by part, those of one replay after each other; then the growth.

    Raises WorkloadError with all that failed.
    """
    on_each = {
        part.source: [each for each in parts if each.source == part.source] for part in parts
    }
    databases = max(sum(len(part.schemas) for part in same) for same in on_each.values())
    measured: list[tuple[Part, Comparison]] = []
    failed: list[str] = []
    with workplaces(replace(options, sources=list(on_each)), databases + 1) as places:
        for source, directory in places:
            plan = options.plan(source, directory)
            truth = truth_of(plan.replay, plan.directory, note)
            for part in on_each[source]:
                comparison = _compare(part.plan(plan), truth)
                measured.append((part, comparison))
                failed += problems(comparison)
    comparable = _with_schemas_of_the_last(measured)
    if len(comparable) > 1:
        echo(growth_table(comparable))
    if failed:
        raise WorkloadError("; ".join(failed))


def _with_schemas_of_the_last(measured: Sequence[tuple[Part, Comparison]]) -> list[Comparison]:
    """What can be held against the last: it has one of its schemas, or both have none."""
    wanted = set(measured[-1][0].schemas)
    return [
        comparison
        for part, comparison in measured
        if wanted & set(part.schemas) or not (wanted or part.schemas)
    ]


def _compare(plan: Plan, truth: Truth) -> Comparison:
    comparison = compare(plan, truth, note)
    echo(f"{heading(comparison, plan)}\n{load_table(comparison)}\n")
    if plan.afterwards:
        echo(f"{afterwards_table(comparison)}\n")
    return comparison

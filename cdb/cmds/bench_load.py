"""bench_load: what loads cost against the floor, and what the databases can do afterwards."""

from typing import Any

import click

from cdb.bench.comparison import compare
from cdb.bench.process import WorkloadError
from cdb.cmds.bench_options import BenchOptions, common_options, note, workplaces
from cdb.cmds.bench_tables import (
    Loads,
    afterwards_table,
    growth_table,
    heading,
    load_table,
    problems,
)
from cdb.cmds.options import SchemaType
from cdb.cmds.runner import run
from cdb.errors import MissingEngineError, UnsupportedError
from cdb.schemas import find_schema

DEFAULT_SCHEMAS = ("coin_log", "rocks_kv")


@click.command("load")
@click.argument(
    "schemas", nargs=-1, metavar="[SCHEMA]...", shell_complete=SchemaType().shell_complete
)
@common_options
@click.option("--loads-only", is_flag=True, help="Don't measure what comes after the loads.")
def bench_load(schemas: tuple[str, ...], *, loads_only: bool, **common: Any) -> None:
    """Load a replay into each SCHEMA (coin_log and rocks_kv, unless others are named).

    In each round the floor and every schema load the same text once, each in a fresh process, so
    that ratios against the floor come from the same minutes. The floor is what no durable load can
    do without: read, parse, name, append 80 bytes a coin, sync. wall is the time from opening to
    closing; the text is in memory beforehand. Figures are min / median / max of the runs.

    Each database is read back coin by coin: only with the digest that follows from the replay's
    text it has figures. Then it is measured in lookups, rewinds, opening, small commits and with
    little memory, and every answer is checked. What can't be measured here says why.

    Progress goes to standard error, tables to standard output. Exits with 1 when any schema failed.

    \b
    Examples:
      cdb bench load
      cdb bench load coin_log --coins 1000000 --runs 3
      cdb bench load sqlite_row flat_file --coins 1000000 --heights 800000 --loads-only
      cdb bench load my_package.my_schema null --input replay.txt --dir /mnt/disk
    """
    options = BenchOptions.of(**common)
    specs = tuple(dict.fromkeys(schemas or DEFAULT_SCHEMAS))
    for spec in specs:
        _check_usable(spec, options)
    results: list[Loads] = []
    failed: list[str] = []
    with workplaces(options, databases=len(specs) + 1) as places:
        for source, directory in places:
            plan = options.plan(source, directory, specs, afterwards=not loads_only)
            result = compare(plan, note)
            results.append(result.loads)
            failed += problems(result.loads, result.afterwards)
            click.echo(heading(result.loads, plan))
            click.echo(load_table(result.loads))
            if result.afterwards:
                click.echo(f"\n{afterwards_table(result.truth, result.afterwards)}")
            click.echo()
    if len(results) > 1:
        click.echo(growth_table(results))
    if failed:
        raise WorkloadError("; ".join(failed))


def _check_usable(spec: str, options: BenchOptions) -> None:
    schema = find_schema(spec)
    if schema.missing is not None:
        raise MissingEngineError(f"schema {spec}: {schema.missing}")
    if schema.keeps_contract and options.durability not in schema.durabilities:
        raise UnsupportedError(f"schema {spec} has no durability '{options.durability.value}'")


if __name__ == "__main__":
    run(bench_load)

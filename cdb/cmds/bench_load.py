"""bench_load: what loads cost against the floor, and what the databases can do afterwards."""

from dataclasses import replace
from typing import Any

import click

from cdb.cmds.bench_options import MAINNET, BenchOptions, Source, common_options, keep_option
from cdb.cmds.bench_parts import Part, compare_all
from cdb.cmds.options import SchemaType
from cdb.cmds.runner import run
from cdb.errors import MissingEngineError, UnsupportedError
from cdb.schemas import find_schema

DEFAULT_SCHEMAS = ("coin_log", "rocks_kv")
ROW_SCHEMAS = ("sqlite_row", "flat_file")
WHOLE_TABLE = (
    Part(MAINNET, DEFAULT_SCHEMAS, afterwards=True),
    Part(MAINNET, ROW_SCHEMAS, runs=1),
    Part(Source(coins=1_000_000), ("sqlite_v3", "rocks", *ROW_SCHEMAS)),
)


@click.command("load")
@click.argument(
    "schemas", nargs=-1, metavar="[SCHEMA]...", shell_complete=SchemaType().shell_complete
)
@common_options()
@keep_option
@click.option("--loads-only", is_flag=True, help="Don't measure what comes after the loads.")
def bench_load(schemas: tuple[str, ...], *, loads_only: bool, **common: Any) -> None:
    """Load a replay into each SCHEMA (coin_log and rocks_kv, unless others are named).

    Without a SCHEMA and a replay: the whole table. coin_log and rocks_kv on mainnet's first 800,000
    heights, in all workloads; loads of the same into sqlite_row and flat_file, one run; loads of
    1,000,000 coins into these, sqlite_v3 and rocks. All flush as load_blocks does.

    In each round the floor and every schema load the same text once, each in a fresh process, so
    that ratios against the floor come from the same minutes. The floor is what no durable load can
    do without: read, parse, name, append 80 bytes a coin, sync. wall is the time from opening to
    closing; the text is in memory beforehand. Figures are min / median / max of the runs.

    Each database is read back coin by coin: only with the digest that follows from the replay's
    text it has figures. Then it is measured in all workloads of docs/benchmarks.md, and every
    answer is checked. What can't be measured here says why. † marks fewer than five runs.

    Progress goes to standard error, tables to standard output. Exits with 1 when any schema failed.

    \b
    Examples:
      cdb bench load
      cdb bench load coin_log --coins 1000000 --runs 3
      cdb bench load sqlite_row flat_file --coins 1000000 --heights 800000 --loads-only
      cdb bench load my_package.my_schema null --input replay.txt --dir /mnt/disk
    """
    options = BenchOptions.of(**common)
    asks_for_one = schemas or common["heights"] or common["coins"] or common["inputs"]
    specs = tuple(dict.fromkeys(schemas or DEFAULT_SCHEMAS))
    parts = [Part(source, specs, not loads_only) for source in options.sources]
    if not asks_for_one:
        parts = [
            replace(each, afterwards=each.afterwards and not loads_only) for each in WHOLE_TABLE
        ]
    for spec in dict.fromkeys(spec for part in parts for spec in part.schemas):
        _check_usable(spec, options)
    compare_all(parts, options)


def _check_usable(spec: str, options: BenchOptions) -> None:
    schema = find_schema(spec)
    if schema.missing is not None:
        raise MissingEngineError(f"schema {spec}: {schema.missing}")
    if schema.keeps_contract and options.durability not in schema.durabilities:
        raise UnsupportedError(f"schema {spec} has no durability '{options.durability.value}'")


if __name__ == "__main__":
    run(bench_load)

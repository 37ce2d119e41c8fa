"""bench_floor: what no durable load can do without."""

from typing import Any

import click

from cdb.bench.comparison import floors
from cdb.bench.process import WorkloadError
from cdb.cmds.bench_options import BenchOptions, common_options, note, workplaces
from cdb.cmds.bench_tables import Loads, growth_table, heading, load_table, problems
from cdb.cmds.runner import run


@click.command("floor")
@common_options
def bench_floor(**common: Any) -> None:
    """Measure the floor: what no durable load can do without, with two threads and with one.

    Read the text (from memory), parse it, compute each coin's name, append 80 bytes a coin to a
    file, and sync it each --flush-every coins and at the end. Nothing is checked, and nothing could
    be looked up. The native code is that of every load.

    \b
    Examples:
      cdb bench floor
      cdb bench floor --input replay.txt --dir /mnt/disk
    """
    options = BenchOptions.of(**common)
    results: list[Loads] = []
    failed: list[str] = []
    with workplaces(options, databases=1) as places:
        for source, directory in places:
            plan = options.plan(source, directory)
            loads = floors(plan, note)
            results.append(loads)
            failed += problems(loads, {})
            click.echo(f"{heading(loads, plan)}\n{load_table(loads)}\n")
    if len(results) > 1:
        click.echo(growth_table(results))
    if failed:
        raise WorkloadError("; ".join(failed))


if __name__ == "__main__":
    run(bench_floor)

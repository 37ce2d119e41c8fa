"""The group ``cdb bench``: what schemas cost, measured so that it can be compared."""

import click

from cdb.cmds.lazy_group import LazyGroup
from cdb.cmds.runner import run

COMMANDS = {
    "run": "bench_run",
    "load": "bench_load",
    "floor": "bench_floor",
    "node": "bench_node",
    "week": "bench_week",
}


@click.group("bench", cls=LazyGroup, lazy=COMMANDS)
def bench() -> None:
    """Measure what schemas cost: several runs, each in a fresh process, every answer checked.

    Each command also runs as a module: python -m cdb.cmds.bench_run, bench_load, bench_floor,
    bench_node, bench_week.
    """


if __name__ == "__main__":
    run(bench)

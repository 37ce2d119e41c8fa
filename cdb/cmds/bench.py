"""The group ``cdb bench``: what schemas cost, measured so that it can be compared."""

import click

from cdb.cmds.lazy_group import LazyGroup
from cdb.cmds.runner import run

SECTIONS = {
    "Commands": {
        "run": "Schemas: loads, look-ups, scans, rewinds, memory.",
        "speed": "How fast coin_log is, in one table.",
        "pairs": "Options, each beside its default.",
        "node": "chia's own coin store beside cdb's, call by call.",
        "week": "A node's week: sync, tip, wallets; both stores.",
        "engines": "Published key layouts in each engine.",
    }
}
GONE = {
    "load": "cdb bench run --loads-only && cdb report --format terminal",
    "floor": "cdb bench run floor --loads-only && cdb report --format terminal",
}


class BenchGroup(LazyGroup):
    """Knows what commands of before are called now."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click has it."""
        if args[0] in GONE:
            ctx.fail(f"'{args[0]}' is a part of 'run' now: {GONE[args[0]]}")
        return super().resolve_command(ctx, args)


@click.group("bench", cls=BenchGroup, sections=SECTIONS, prefix="bench_")
def bench() -> None:
    """Measure what schemas cost: several runs, each in a fresh process, every answer checked.

    Each command also runs as a module: python -m cdb.cmds.bench_run, bench_speed, bench_pairs,
    bench_node, bench_week, bench_engines.
    """


if __name__ == "__main__":
    run(bench)

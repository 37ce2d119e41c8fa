"""bench_floor: what no durable load can do without."""

from typing import Any

import click

from cdb.cmds.bench_options import BenchOptions, common_options, keep_option
from cdb.cmds.bench_parts import Part, compare_all
from cdb.cmds.runner import run


@click.command("floor")
@common_options()
@keep_option
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
    compare_all([Part(source) for source in options.sources], options)


if __name__ == "__main__":
    run(bench_floor)

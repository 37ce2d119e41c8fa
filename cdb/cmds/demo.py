"""demo: load one replay into every schema, and compare."""

import tempfile
from pathlib import Path
from typing import Any

import click

from cdb.cmds.echo import echo, echo_json, note
from cdb.cmds.load import LoadOptions, LoadSummary, load_stream, summary_object
from cdb.cmds.options import directory_option, json_option, quiet_option
from cdb.cmds.output import CoinsSoFar, write_replay
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.errors import InvariantError
from cdb.report.units import duration, size
from cdb.schemas import SchemaInfo, find_schema
from cdb.schemas.registry import names_at_paths
from cdb.text.mainnet_shape import mainnet_shaped_blocks

DEMO_COINS = 100_000
_HEADER = ["schema", "time", "coins/s", "bytes written", "bytes per coin", "digest"]


@click.command("demo")
@click.option(
    "--coins",
    type=click.IntRange(min=1),
    metavar="N",
    default=DEMO_COINS,
    show_default=True,
    help="How many coins to load.",
)
@directory_option("Put the databases below this directory")
@json_option
@quiet_option
def demo(*, coins: int, parent: Path, as_json: bool) -> None:
    """Load mainnet-shaped blocks into every schema, and print what each took.

    All get the same replay and flush to the disk each 50,000 coins. Then the command looks every
    coin up in each database: a digest that is the same everywhere proves that all hold the same
    state. It removes the databases at the end.

    \b
    Examples:
      cdb demo
      cdb demo --coins 1000000 --dir /mnt/disk --json
    """
    with tempfile.TemporaryDirectory(prefix="cdb-demo-", dir=parent) as name:
        directory = Path(name)
        replay = directory / "replay.txt"
        note(f"making a replay of {coins:,} coins …")
        blocks, done = mainnet_shaped_blocks(coins=coins), CoinsSoFar()
        write_replay(blocks, replay, total=coins, unit=" coins", done=done)
        schemas = list(map(find_schema, names_at_paths()))
        ready = [schema for schema in schemas if schema.missing is None]
        results = [(schema, _load(schema, directory, replay)) for schema in ready]
    digests = {result.digest for _, result in results if result.digest is not None}
    if as_json:
        echo_json([_object(schema, result) for schema, result in results])
    else:
        _show(results, [schema for schema in schemas if schema.missing is not None])
    if len(digests) != 1:
        raise InvariantError("the digests differ: at least one schema holds a wrong state")
    if not as_json:
        echo(f"\nall digests are {digests.pop()}")


def _object(schema: SchemaInfo, result: LoadSummary) -> dict[str, Any]:
    return {"schema": schema.name, **summary_object(result)}


def _show(results: list[tuple[SchemaInfo, LoadSummary]], left_out: list[SchemaInfo]) -> None:
    echo(_results_table(results))
    for schema in left_out:
        echo(f"{schema.name} was left out: {schema.missing}")


def _load(schema: SchemaInfo, directory: Path, replay: Path) -> LoadSummary:
    with replay.open("rb") as stream:
        options = LoadOptions(total_bytes=replay.stat().st_size)
        return load_stream(schema, directory / schema.default_path, stream, options)


def _results_table(results: list[tuple[SchemaInfo, LoadSummary]]) -> str:
    reference = next(result.digest for _, result in results if result.digest is not None)
    rows = [_HEADER]
    for schema, result in results:
        if result.digest is None:
            mark = "keeps nothing"
        else:
            mark = "✓" if result.digest == reference else "✗"
        rows.append(
            [
                schema.name,
                duration(result.seconds),
                f"{result.coins / result.seconds:,.0f}",
                size(result.bytes_written),
                f"{(result.size_bytes or 0) / result.coins:.0f} B",
                mark,
            ]
        )
    return table(rows)


if __name__ == "__main__":
    run(demo)

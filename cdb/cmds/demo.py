"""demo: load one replay into every schema, and compare."""

import tempfile
from pathlib import Path

import click

from cdb.cmds.echo import echo
from cdb.cmds.load import LoadOptions, LoadSummary, load_stream
from cdb.cmds.options import directory_option
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.errors import InvariantError, storage_errors
from cdb.mainnet_shape import mainnet_shaped_blocks
from cdb.replay import write_blocks
from cdb.report.units import duration, size
from cdb.schemas import SchemaInfo, find_schema, schema_names

DEMO_COINS = 100_000
_HEADER = ["schema", "time", "coins/s", "bytes written", "size a coin", "digest"]


@click.command("demo")
@click.option(
    "--coins",
    type=click.IntRange(min=1),
    metavar="N",
    default=DEMO_COINS,
    show_default=True,
    help="How many coins to load.",
)
@directory_option("Where to put the databases")
def demo(coins: int, parent: Path) -> None:
    """Load mainnet-shaped blocks into every schema, and print what each took.

    All get the same replay and flush to the disk each 50,000 coins. Afterwards every coin is looked
    up in each database: a digest that is the same everywhere proves that they hold the same state.
    """
    with tempfile.TemporaryDirectory(prefix="cdb-demo-", dir=parent) as name:
        directory = Path(name)
        replay = directory / "replay.txt"
        echo(f"making a replay of {coins:,} coins …", err=True)
        with storage_errors(replay), replay.open("wb") as stream:
            write_blocks(stream, mainnet_shaped_blocks(coins=coins))
        schemas = [find_schema(name) for name in schema_names()]
        ready = [schema for schema in schemas if schema.missing is None]
        results = [(schema, _load(schema, directory, replay)) for schema in ready]
    echo(_results_table(results))
    for schema in schemas:
        if schema.missing is not None:
            echo(f"{schema.name} was left out: {schema.missing}")
    digests = {result.digest for _, result in results if result.digest is not None}
    if len(digests) != 1:
        raise InvariantError("the digests differ: at least one schema holds a wrong state")
    echo(f"\nall digests are {digests.pop()}")


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
                f"{result.size_bytes / result.coins:.0f} B",
                mark,
            ]
        )
    return table(rows)


if __name__ == "__main__":
    run(demo)

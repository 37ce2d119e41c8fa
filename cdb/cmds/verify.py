"""verify: check a database's invariants, or two databases against each other."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from tqdm import tqdm

from cdb.cmds.options import SchemaType, database_path, db_option, schema_argument
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.schemas import SchemaInfo
from cdb.state import Progress, StateSummary, compare
from cdb.state import verify as verify_state


@click.command("verify")
@schema_argument
@db_option
@click.option("--against", type=SchemaType(), metavar="SCHEMA2", help="A second database's schema.")
@click.option(
    "--db2", type=click.Path(path_type=Path), metavar="PATH2", help="The second database."
)
def verify(
    schema: SchemaInfo, db: Path | None, against: SchemaInfo | None, db2: Path | None
) -> None:
    """Check every invariant of a database of SCHEMA, and print its state digest.

    Each block is read, each coin looked up, each spend held against the coin that it spends. With
    --against a second database is checked too, and the first block is named in which they differ.
    Databases that hold the same coins have the same digest, whatever their schemas.

    Exits with 0 when all is well, and with 1 when something is wrong or the databases differ.
    """
    if db2 is not None and against is None:
        raise click.UsageError("--db2 needs --against, the schema of that database")
    _check(schema, database_path(schema, db))
    if against is not None:
        path, path2 = database_path(schema, db), database_path(against, db2)
        _check(against, path2)
        with (
            schema.open(path, read_only=True) as one,
            against.open(path2, read_only=True) as other,
            _bar("compare") as progress,
        ):
            compare(one, other, progress)
        click.echo(f"{path} and {path2} hold the same blocks and coins")


def _check(schema: SchemaInfo, path: Path) -> None:
    schema.check_keeps_contract()
    with schema.open(path, read_only=True) as database, _bar(str(path)) as progress:
        summary = verify_state(database, progress)
    click.echo(_report(schema, path, summary))


def _report(schema: SchemaInfo, path: Path, summary: StateSummary) -> str:
    return table(
        [
            ["database", f"{path} ({schema.name})"],
            ["blocks", f"{summary.blocks:,}"],
            ["coins", f"{summary.coins:,}"],
            ["spends", f"{summary.spends:,}"],
            ["newest block", str(summary.newest_index)],
            ["digest", summary.digest],
        ],
        left=frozenset({0, 1}),
    )


@contextmanager
def _bar(what: str) -> Iterator[Progress]:
    hidden = not sys.stderr.isatty()
    with tqdm(desc=what, unit=" coins", unit_scale=True, leave=False, disable=hidden) as bar:
        yield bar.update


if __name__ == "__main__":
    run(verify)

"""Tries a schema with faults, over as many seeds as wanted, or does one failure again."""

from collections.abc import Sequence
from pathlib import Path

import click

from cdb.errors import CdbError
from cdb.testing.faults.calls import INTERFERENCES, interfere
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.damage import flip_bits
from cdb.testing.faults.disk import FileSystem
from cdb.testing.faults.oracle import BrokenPromiseError
from cdb.testing.faults.power import cut_power
from cdb.testing.faults.rivals import rivals
from cdb.testing.faults.trial import Trials, scratch

FLIPS = 200
TRIALS = ("power", *INTERFERENCES, "flip", "rivals")


@click.command()
@click.argument("trial", type=click.Choice(TRIALS))
@click.argument("schema")
@click.option("--seed", default=1, show_default=True, help="What the script is drawn from.")
@click.option("--seeds", default=1, show_default=True, help="How many seeds, from --seed on.")
@click.option("--only", metavar="POINT", help="Only this fault, as a failure names it.")
@click.option(
    "--on",
    "file_systems",
    type=click.Choice([each.value for each in FileSystem]),
    multiple=True,
    default=[each.value for each in FileSystem],
    help="Cut the power on this model of a file system (may be repeated).  [default: all]",
)
@click.option("--most", type=click.IntRange(min=1), help="At most so many faults a seed.")
def faults(
    trial: str,
    schema: str,
    seed: int,
    seeds: int,
    only: str | None,
    file_systems: Sequence[str],
    most: int | None,
) -> None:
    """Make faults, and check that the schema keeps its promises."""
    for each in range(seed, seed + seeds):
        with scratch() as directory:
            place = Path(directory)
            try:
                if trial == "rivals":
                    coverage = rivals(schema, place)
                elif trial == "flip":
                    coverage = flip_bits(schema, each, place, flips=most or FLIPS, only=only)
                elif trial == "power":
                    on = [FileSystem(name) for name in file_systems]
                    coverage = _cut(schema, each, place, on, most, only)
                else:
                    coverage = _interfere(schema, each, place, trial, most, only)
            except (BrokenPromiseError, CdbError) as error:
                raise click.ClickException(str(error)) from error
        if not coverage.points:
            raise click.ClickException(f"there is no {trial} {only} of {schema} at seed {each}")
        click.echo(coverage)


def _cut(
    schema: str,
    seed: int,
    place: Path,
    on: Sequence[FileSystem],
    most: int | None,
    only: str | None,
) -> Coverage:
    with Trials(schema) as trials:
        return cut_power(trials, seed, place, file_systems=on, most_databases=most, only=only)


def _interfere(
    schema: str, seed: int, place: Path, how: str, most: int | None, only: str | None
) -> Coverage:
    with Trials(schema) as trials:
        return interfere(trials, seed, place, how, most_points=most, only=only)


if __name__ == "__main__":
    faults(prog_name=f"python -m {__package__}")

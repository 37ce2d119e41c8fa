"""Tries a schema with faults, over as many seeds as wanted, or does one failure again."""

import json
from dataclasses import asdict, replace

import click

from cdb.errors import CdbError, UnsupportedError
from cdb.process.termination import end_at_sigterm
from cdb.testing.faults.attempt import EXIT_UNSUPPORTED
from cdb.testing.faults.catalogue import CATALOGUE
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError
from cdb.testing.faults.trial import scratch


def _kinds() -> str:
    width = max(map(len, CATALOGUE))
    return "\n".join(f"  {name:{width}}  {kind.about}" for name, kind in CATALOGUE.items())


class CannotTry(click.ClickException):
    """The schema can't be tried so, or not on this machine."""

    exit_code = EXIT_UNSUPPORTED


@click.command(
    help=f"""Make faults of one kind, and check that SCHEMA keeps its promises.

    Exits with 1 when one is broken, with {EXIT_UNSUPPORTED} when that can't be tried here.""",
    epilog="\b\nThe trials:\n" + _kinds(),
)
@click.argument("trial", type=click.Choice(tuple(CATALOGUE)), metavar="TRIAL")
@click.argument("schema")
@click.option("--seed", default=1, show_default=True, help="What the script is drawn from.")
@click.option("--seeds", default=1, show_default=True, help="How many seeds, from --seed on.")
@click.option("--only", metavar="POINT", help="Only this fault, as a failure names it.")
@click.option("--most", type=click.IntRange(min=1), help="At most so many faults a seed.")
@click.option("--json", "as_json", is_flag=True, help="What was covered as a line of JSON a seed.")
def faults(
    trial: str,
    schema: str,
    seed: int,
    seeds: int,
    only: str | None,
    most: int | None,
    as_json: bool,
) -> None:
    end_at_sigterm()
    kind = CATALOGUE[trial]
    problem = kind.missing()
    if problem is not None:
        raise CannotTry(problem)
    points = 0
    for each in range(seed, seed + seeds):
        with scratch(on_disk=kind.needs_disk) as directory:
            try:
                coverage = kind.trial(schema, each, directory, most=most, only=only)
            except UnsupportedError as error:
                raise CannotTry(str(error)) from error
            except (BrokenPromiseError, CdbError) as error:
                raise click.ClickException(str(error)) from error
        if only is not None and not coverage.points:
            raise click.ClickException(f"there is no {trial} {only} of {schema} at seed {each}")
        click.echo(_json(coverage) if as_json else coverage)
        points += coverage.points
    if not points:  # as where no file was ever written again
        raise CannotTry(f"nothing was tried: {trial} found nothing to do")


def _json(coverage: Coverage) -> str:
    # asdict() copies a mapping by calling its type with pairs, which a Counter counts.
    return json.dumps(asdict(replace(coverage, found=dict(coverage.found))))


if __name__ == "__main__":
    faults(prog_name=f"python -m {__package__}")

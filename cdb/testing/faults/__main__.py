"""Tries a schema with faults, over as many seeds as wanted, or does one failure again."""

import click

from cdb.process.termination import end_at_sigterm
from cdb.testing.faults.attempt import Attempt, Failure, Untried
from cdb.testing.faults.catalogue import CATALOGUE

EXIT_UNSUPPORTED = 3


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
def faults(
    trial: str,
    schema: str,
    seed: int,
    seeds: int,
    only: str | None,
    most: int | None,
) -> None:
    end_at_sigterm()
    points = 0
    for each in range(seed, seed + seeds):
        verdict = Attempt(trial, schema, each, most).make(only)
        if isinstance(verdict, Untried):
            raise CannotTry(verdict.reason)
        if isinstance(verdict, Failure):
            problem = f"{schema}: {verdict.problem}\n  again: {verdict.command}"
            raise click.ClickException(problem)
        if only is not None and not verdict.points:
            raise click.ClickException(f"there is no {trial} {only} of {schema} at seed {each}")
        click.echo(verdict)
        points += verdict.points
    if not points:  # as where no file was ever written again
        raise CannotTry(f"nothing was tried: {trial} found nothing to do")


if __name__ == "__main__":
    faults(prog_name=f"python -m {__package__}")

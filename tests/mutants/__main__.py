"""Draw a sample of mutants, and see how many of them tests notice. See docs/mutants.md."""

import signal
import sys
from datetime import timedelta
from pathlib import Path

import click

from tests.mutants.draw import Mutant, drawn, sources, universalmutator
from tests.mutants.judge import ControlError, judge, judge_together
from tests.mutants.results import Results, Verdict
from tests.mutants.working_copy import BuildError, WorkingCopy, fingerprint

CHECKOUT = Path(__file__).parents[2]
BUILD = CHECKOUT / "build/mutants"
INTERRUPTED = 130
AT_ONCE = 80
"""So many mutants that the nearest tests passed are put in together for all tests."""


@click.command()
@click.option("--count", default=300, show_default=True, help="Judge so many.")
@click.option("--seed", default=1, show_default=True, help="Draw another sample by another number.")
@click.option("--only", default="", metavar="PATH", help="Draw from this file or directory alone.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the summary here, and verdicts beside it, in -SEED.json.  "
    "[default: reports/mutants.md, or build/mutants/ONLY.md]",
)
def main(count: int, seed: int, only: str, report: Path | None) -> None:
    """Judge a sample of mutants. The same command goes on where it was ended."""
    files = sources(CHECKOUT, only)
    if not files:
        raise click.UsageError(f"git tracks no source that is {only}, or below it")
    name = only.strip("/").replace("/", "-") or "all"
    sample: dict[str, str | int] = {
        "sources": fingerprint(CHECKOUT),
        "seed": seed,
        "of": only or "all sources",
    }
    report = report or (BUILD / f"{name}.md" if only else CHECKOUT / "reports/mutants.md")
    results = Results(report.with_name(f"{report.stem}-{seed}.json"), sample)
    copy = WorkingCopy(CHECKOUT, BUILD / "copy")
    # What a script runs in the background ignores Ctrl-C, and so would all that is started here.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    try:
        copy.refresh()
        for mutant in drawn(CHECKOUT, files, seed, universalmutator(BUILD / "tool")):
            is_last = results.n_tried >= count
            while (doubtful := results.in_doubt()) and (is_last or len(doubtful) >= AT_ONCE):
                for each, verdict in judge_together(doubtful[:AT_ONCE], copy):
                    results.add(each, verdict)
                    tell(each, verdict, "all tests")
            if is_last:
                break
            if mutant not in results:
                verdict = judge(mutant, copy)
                results.add(mutant, verdict)
                tell(mutant, verdict, f"{results.n_tried} of {count}")
    except KeyboardInterrupt:
        click.echo("\nEnding; what was found is kept, and the same command goes on.", err=True)
        sys.exit(INTERRUPTED)
    except (BuildError, ControlError) as error:
        sys.exit(f"{copy.path}: {error}")
    finally:
        click.echo(results.summary())
    report.write_text(results.report(), "utf-8")


def tell(mutant: Mutant, verdict: Verdict, place: str) -> None:
    took = timedelta(seconds=round(verdict.seconds))
    click.echo(f"[{place}, {took}] {mutant}\n    {verdict.outcome} {verdict.by}")


if __name__ == "__main__":
    main()

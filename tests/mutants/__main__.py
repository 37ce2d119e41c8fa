"""Put each fault in, and see whether anything finds it. See docs/mutants.md."""

import queue
import signal
import sys
import threading
from datetime import timedelta
from pathlib import Path
from time import monotonic

import click

from tests.mutants import processes
from tests.mutants.catalogue import MUTANTS
from tests.mutants.judge import ControlError, judge
from tests.mutants.mutant import Mutant
from tests.mutants.results import Results
from tests.mutants.working_copy import BuildError, WorkingCopy, fingerprint

CHECKOUT = Path(__file__).parents[2]
COPIES = CHECKOUT / "build/mutants"
INTERRUPTED = 130


@click.command()
@click.option("--only", "names", multiple=True, metavar="NAME", help="Try this one, done or not.")
@click.option("--jobs", default=2, show_default=True, help="How many copies work at a time.")
@click.option(
    "--parts",
    type=click.IntRange(min=1),
    metavar="N",
    help="Try no more than so many parts of the tests, and no soak.  [default: all, and a soak]",
)
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=CHECKOUT / "reports/mutants",
    show_default="reports/mutants",
    help="Where results.json and report.md are.",
)
def main(names: tuple[str, ...], jobs: int, parts: int | None, results: Path) -> None:
    """Try the mutants that were not tried yet, and those that survived before the last change."""
    unknown = {*names} - {mutant.name for mutant in MUTANTS}
    if unknown:
        raise click.UsageError(f"no such mutant: {', '.join(sorted(unknown))}")
    found = Results.of(results, fingerprint(CHECKOUT))
    due = [each for each in MUTANTS if (each.name in names if names else found.is_due(each))]
    run = Run(due, found, parts or 0)
    # What a script runs in the background ignores Ctrl-C, and so would all that is started here.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.default_int_handler)
    try:
        run.go(min(jobs, len(due)))
    except KeyboardInterrupt:
        click.echo("\nEnding; what was found is kept, and the same command goes on.", err=True)
        processes.stop_all()
        run.wait()
        sys.exit(INTERRUPTED)
    finally:
        found.write()
        found.write_report(MUTANTS)
        click.echo(found.summary(MUTANTS))
    sys.exit(run.problem)


class Run:
    """Goes through mutants, in several copies at a time."""

    def __init__(self, due: list[Mutant], results: Results, most_parts: int) -> None:
        self.problem: str | int = 0
        self._due: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
        for mutant in due:
            self._due.put(mutant)
        self._total, self._done = len(due), 0
        self._results, self._most_parts = results, most_parts
        self._since = monotonic()
        self._threads: list[threading.Thread] = []

    def go(self, jobs: int) -> None:
        """Try all. problem says what prevented it."""
        self._threads = [threading.Thread(target=self._work, args=[n]) for n in range(jobs)]
        for thread in self._threads:
            thread.start()
        self.wait()
        if self._done < self._total:
            self.problem = self.problem or "not all were tried; what is above says why"

    def wait(self) -> None:
        """Wait for the end."""
        for thread in self._threads:
            thread.join()

    def _work(self, number: int) -> None:
        copy = WorkingCopy(CHECKOUT, COPIES / str(number))
        try:
            copy.refresh()
            while True:
                mutant = self._due.get_nowait()
                verdict = judge(mutant, copy, self._most_parts)
                self._results.add(mutant, verdict)
                self._done += 1
                self._tell(f"{mutant.name}: {verdict.outcome} {verdict.step} {verdict.by}")
        except (queue.Empty, processes.StoppedError):
            pass
        except (BuildError, ControlError) as error:
            self.problem = f"{copy.path}: {error}"
            processes.stop_all()

    def _tell(self, line: str) -> None:
        elapsed = monotonic() - self._since
        left = elapsed / self._done * (self._total - self._done)
        place = f"{self._done} of {self._total}, about {timedelta(seconds=round(left))} left"
        click.echo(f"[{place}] {line}")


if __name__ == "__main__":
    main()

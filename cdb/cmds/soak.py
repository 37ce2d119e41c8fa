"""soak: all faults on all schemas, for hours."""

import platform
import signal
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import click
from tqdm import tqdm

from cdb.bench.machine import machine_name
from cdb.bench.software import software_versions
from cdb.cmds.echo import echo
from cdb.cmds.options import PathType, SchemaType, TimeType, find_asked_schema
from cdb.cmds.runner import EXIT_ERROR, run
from cdb.cmds.soak_report import (
    Document,
    SoakReport,
    counts_text,
    markdown,
    read_markdown,
    write_report,
)
from cdb.contract.printable import printable_lines
from cdb.errors import CdbError, StorageError, UnsupportedError
from cdb.testing.faults.catalogue import CATALOGUE
from cdb.testing.faults.soak import Result, Rotation, take_turns
from cdb.testing.faults.subjects import Subject, all_subjects, subject_of

WRITE_EVERY_SECONDS = 60


@click.command("soak")
@click.argument(
    "specs", nargs=-1, metavar="[SCHEMA]...", shell_complete=SchemaType().shell_complete
)
@click.option(
    "--trial",
    "trials",
    type=click.Choice(tuple(CATALOGUE)),
    multiple=True,
    metavar="TRIAL",
    help="Only this kind of trial (see python -m cdb.testing.faults --help). May be given several "
    "times.  [default: all]",
)
@click.option(
    "--hours",
    type=TimeType(),
    default=1.0,
    show_default=True,
    help="End after so long; trials that still run are broken off.",
)
@click.option(
    "--count",
    "trial_count",
    type=click.IntRange(min=1),
    metavar="N",
    help="Make only so many trials.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The first seed."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="How many trials run at a time.",
)
@click.option(
    "--time-limit",
    "time_limit_seconds",
    type=TimeType(),
    default=1800.0,
    show_default=True,
    metavar="SECONDS",
    help="A trial that takes longer has failed.",
)
@click.option(
    "--report",
    type=PathType(dir_okay=False),
    metavar="FILE",
    help="A new file for all that was found, as JSON; each minute it is written again.",
)
@click.option(
    "--show",
    type=PathType(exists=True, dir_okay=False),
    metavar="FILE",
    help="Try nothing; print a report again.",
)
def soak(
    specs: tuple[str, ...],
    *,
    trials: tuple[str, ...],
    hours: float,
    trial_count: int | None,
    seed: int,
    jobs: int,
    time_limit_seconds: float,
    report: Path | None,
    show: Path | None,
) -> int:
    """Make faults of all kinds on each SCHEMA (cdb's own, unless some are named), seed after seed.

    Each trial is a process of its own, which may die or hang. First each kind is tried on each
    schema with few faults, then with all of them. All kinds get about the same time.

    A broken promise is printed at once, with the command that does it again. Known
    limits of the engine are counted separately. At the end, also after Ctrl-C, tables say how many
    faults were made of which schema; kinds that can't be tried here are named.

    \b
    Exits with
      0  all promises were kept, but for known limits
      1  a promise was broken, or another error

    \b
    Examples:
      cdb soak --hours 2 --report soak.json
      cdb soak my_package.my_schema --trial power-ext4 --trial kill --hours 0.1
      cdb soak --show soak.json
    """
    if show is not None:
        if specs or trials or report:
            raise click.UsageError("--show tries nothing: leave out what goes with it")
        echo(read_markdown(show))
        return 0
    if report is not None and (report.exists() or report.is_symlink()):
        raise CdbError(f"{report} is there already; name a new file for the report")
    subjects = {
        spec: all_subjects().get(spec, subject_of(spec)) for spec in specs or all_subjects()
    }
    settings: Document = {
        "seed": seed,
        "hours": hours,
        "trial_count": trial_count,
        "jobs": jobs,
        "time_limit_seconds": time_limit_seconds,
        "schemas": {name: subject.spec for name, subject in subjects.items()},
        "machine": {"name": _machine_name(), "platform": platform.platform()},
        "software": software_versions(),
    }
    soaked = SoakReport(settings)
    rotation = Rotation(
        _kinds_that_are_here(dict.fromkeys(trials or CATALOGUE), soaked),
        _schemas_that_are_here(subjects, soaked),
    )
    watch = Watch(soaked, report, 3600 * hours)
    watch.write(soaked.document("running"))
    turns = take_turns(
        rotation,
        first_seed=seed,
        jobs=jobs,
        time_limit_seconds=time_limit_seconds,
        count=trial_count,
    )
    state = watch.until_the_end(turns)
    document = soaked.document(state)
    try:
        watch.write(document)
    finally:
        echo(markdown(document))
    if not rotation.pairs:
        raise UnsupportedError("nothing can be tried here; what was left out says why")
    if soaked.totals["failed"]:
        return EXIT_ERROR
    if not soaked.totals["points"]:
        raise UnsupportedError("nothing was tried: it ended before the first fault")
    return 0


class Watch:
    """Tells on standard error how a soak goes, and ends it. path: where to write the report."""

    def __init__(self, soaked: SoakReport, path: Path | None, seconds: float) -> None:
        self._soaked = soaked
        self._path = path
        self._seconds = seconds
        self._next_write: float = WRITE_EVERY_SECONDS

    def write(self, document: Document) -> None:
        """Write the report. Raises StorageError."""
        if self._path is not None:
            write_report(self._path, document)

    def until_the_end(self, turns: Generator[Result | None, None, None]) -> str:
        """Take in results until there are no more, the time is over, or a signal comes: how it
        ended."""
        with _signals_noted() as signals, closing(turns), self._bar() as bar:
            for result in turns:
                line = None if result is None else self._soaked.take(result)
                if line is not None:
                    _note(line)
                self._tell(bar)
                if signals or self._soaked.seconds >= self._seconds:
                    break
        return "interrupted" if signals else "ended"

    def _bar(self) -> "tqdm[NoReturn]":
        form = "{desc} |{bar:10}|"
        hidden = not sys.stderr.isatty()
        return tqdm(total=self._seconds, bar_format=form, leave=False, disable=hidden)

    def _tell(self, bar: "tqdm[NoReturn]") -> None:
        bar.n = min(self._soaked.seconds, self._seconds)
        bar.set_description_str(self._line())
        if self._soaked.seconds >= self._next_write:
            self._next_write += WRITE_EVERY_SECONDS
            self._try_to_write()
            if bar.disable:
                _note(self._line())

    def _try_to_write(self) -> None:
        try:
            self.write(self._soaked.document("running"))
        except StorageError as error:
            _note(f"the report could not be written: {error}")

    def _line(self) -> str:
        seconds = self._soaked.seconds
        left = timedelta(seconds=max(0, round(self._seconds - seconds)))
        elapsed = timedelta(seconds=round(seconds))
        return f"{elapsed}, {left} left: {counts_text(self._soaked.totals)}"


@contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM that came, the first of either; a second one does what it always does."""
    came: list[int] = []
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def put_back() -> None:
        for each, handler in before.items():
            signal.signal(each, handler)

    def note(number: int, frame: object) -> None:
        came.append(number)
        put_back()

    for each in before:
        signal.signal(each, note)
    try:
        yield came
    finally:
        put_back()


def _kinds_that_are_here(trials: Iterable[str], soaked: SoakReport) -> list[str]:
    """Those that can be made on this machine; the others are left out."""
    here = []
    for trial in trials:
        problem = CATALOGUE[trial].missing()
        if problem is None:
            here.append(trial)
        else:
            _note(soaked.leave_out(problem, trial=trial))
    return here


def _schemas_that_are_here(
    subjects: Mapping[str, Subject], soaked: SoakReport
) -> dict[str, Subject]:
    here = {}
    for name, subject in subjects.items():
        schema = find_asked_schema(subject.spec)
        schema.check_keeps_contract()
        if schema.missing is None:
            here[name] = subject
        else:
            _note(soaked.leave_out(schema.missing, schema=name))
    return here


def _machine_name() -> str | None:
    try:
        return machine_name()
    except CdbError:
        return None


def _note(line: str) -> None:
    """A line on standard error, above the bar."""
    tqdm.write(printable_lines(line), file=sys.stderr)


if __name__ == "__main__":
    run(soak)

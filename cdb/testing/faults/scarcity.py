"""Too little of something: a disk that is nearly full, files that may not grow, few open files.

A script runs with any amount of it that is too small for the whole of it. What it raises must be a
StorageError that names a file, and the process must live. Once there is enough again the database
must keep its promises. With a great deal of it the script must go well.
"""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from cdb.errors import StorageError, UnsupportedError
from cdb.testing.faults.calls import check_error, choose
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.loop_disk import SMALL_EXT4, loop_disk, missing
from cdb.testing.faults.oracle import BrokenPromiseError, Case, Oracle, check_ended_well
from cdb.testing.faults.runs import Request, Run
from cdb.testing.faults.trial import DATABASE, new_directory

POINTS = 100
BLOCK_BYTES = 4096
GRAIN_BYTES = 512
MOST_GRAINS = 1 << 17
MOST_OPEN_FILES = 1 << 10


@dataclass(frozen=True)
class Setting:
    """place: where databases are made. limit: the request with an amount, as long as it lasts.

    enough: an amount that is enough for any script.
    """

    place: Path
    limit: Callable[[Request, int], AbstractContextManager[Request]]
    enough: int


@dataclass(frozen=True)
class Shortage:
    """What there is too little of. missing: why it can't be made so here; None when it can."""

    about: str
    setting: Callable[[Path], AbstractContextManager[Setting]]
    missing: Callable[[], str | None] = lambda: None


@contextmanager
def _full_disk(directory: Path) -> Iterator[Setting]:
    with loop_disk(directory, SMALL_EXT4) as disk:
        ballast = disk.directory / "ballast"

        @contextmanager
        def limit(request: Request, free_blocks: int) -> Iterator[Request]:
            with ballast.open("xb") as file:
                _fill(file.fileno(), free_blocks)
            yield request
            ballast.unlink()

        yield Setting(disk.directory, limit, _free_blocks(disk.directory))


@contextmanager
def _file_size(directory: Path) -> Iterator[Setting]:
    def limit(request: Request, grains: int) -> AbstractContextManager[Request]:
        return nullcontext(replace(request, file_bytes=GRAIN_BYTES * grains))

    yield Setting(directory, limit, MOST_GRAINS)


@contextmanager
def _open_files(directory: Path) -> Iterator[Setting]:
    def limit(request: Request, files: int) -> AbstractContextManager[Request]:
        return nullcontext(replace(request, open_files=files))

    yield Setting(directory, limit, MOST_OPEN_FILES)


SHORTAGES = {
    "full-disk": Shortage(
        f"ext4 has so many free blocks of {BLOCK_BYTES} bytes",
        _full_disk,
        partial(missing, SMALL_EXT4),
    ),
    "file-size": Shortage(f"no file may be longer than so many {GRAIN_BYTES} bytes", _file_size),
    "open-files": Shortage("only so many more files may be open", _open_files),
}


def run_short(
    spec: str,
    seed: int,
    directory: Path,
    trial: str,
    *,
    most: int | None = None,
    only: str | None = None,
) -> Coverage:
    """Run the seed's script with amounts that are too little.

    See Trial; trial: one of SHORTAGES, most: POINTS if None, only: an amount.
    """
    oracle = Oracle(spec, seed)
    with SHORTAGES[trial].setting(directory) as setting:
        root = setting.place / "root"

        def attempt(amount: int) -> Run:
            path = new_directory(root) / DATABASE
            with setting.limit(Request(spec, seed, path), amount) as request:
                return Run(request).listen_to_end()

        whole, most_of_it = Case(trial, spec, seed, "none"), attempt(setting.enough)
        check_ended_well(whole, most_of_it.error, most_of_it.signal)
        oracle.check_whole(whole, root / DATABASE)
        enough = bisect_left(range(setting.enough), True, key=lambda n: _goes_well(attempt(n)))
        if not enough:
            raise UnsupportedError(f"its script needs nothing that {trial} could make scarce")
        amounts = [n for n in range(enough) if only in (None, str(n))]
        chosen = choose(amounts, most or POINTS, seed)
        errors = 0
        for amount in chosen:
            case = Case(trial, spec, seed, str(amount))
            run = attempt(amount)
            if run.signal:
                raise BrokenPromiseError(case, f"the process died of signal {run.signal}")
            if run.error is not None:
                errors += 1
                check_error(case, run.error, root)
                if run.error.kind != StorageError.__name__:
                    raise BrokenPromiseError(case, f"the error misleads: {run.error}")
            oracle.check(case, root / DATABASE, run.progress)
    return Coverage(trial, spec, seed, errors, enough, len(chosen))


def _goes_well(run: Run) -> bool:
    return run.error is None and not run.signal


def _fill(descriptor: int, left_blocks: int) -> None:
    """Let an empty file take all blocks but so many; some are for its own extents."""
    step = _free_blocks(descriptor)
    while (step := min(step, _free_blocks(descriptor) - left_blocks)) > 0:
        try:
            end = os.fstat(descriptor).st_size
            os.posix_fallocate(descriptor, end, BLOCK_BYTES * step)
        except OSError:
            step //= 2


def _free_blocks(where: Path | int) -> int:
    return os.statvfs(where).f_bavail

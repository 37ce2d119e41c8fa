"""Others that would write to an open database: a process, the same one, and a child of it.

Each is refused at once, the writer goes on unharmed, and a writer that is killed leaves no lock.
"""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cdb.contents.state import summarize
from cdb.contract.schema import Schema
from cdb.errors import CdbError, DatabaseError, DatabaseLockedError
from cdb.process.children import exit_code_of, fork
from cdb.process.meter import database_files
from cdb.schemas import open_schema
from cdb.testing.chains import sample_chain
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError, Case, error_text
from cdb.testing.faults.remote import RemoteSchema
from cdb.testing.faults.trial import DATABASE, LONGEST_SECONDS, new_directory, usable
from cdb.testing.side_by_side import settle

TRIAL = "rivals"
BLOCKS = sample_chain(8).blocks


class RivalryError(Exception):
    """What a rival could do, or its writer could not."""


def rivals(
    spec: str, seed: int, directory: Path, *, most: int | None = None, only: str | None = None
) -> Coverage:
    """Try each kind of rival. See Trial."""
    usable(spec)
    chosen = [name for name in RIVALS if only in (None, name)][:most]
    for name in chosen:
        path = new_directory(directory / name) / DATABASE
        writer = RemoteSchema(spec, path)
        try:
            for block in BLOCKS[:-1]:
                writer.accept_block(block)
            writer.flush()
            RIVALS[name](writer, spec, path)
            with open_schema(spec, path) as schema:
                _check_state(schema)
        except (RivalryError, CdbError) as error:
            raise BrokenPromiseError(Case(TRIAL, spec, seed, name), str(error)) from error
        finally:
            writer.kill()
    return Coverage(TRIAL, spec, seed, len(chosen), len(RIVALS), 2 * len(chosen))


def _process(writer: RemoteSchema, spec: str, path: Path) -> None:
    _check_refused(None, spec, path)
    _check_goes_on(writer)
    writer.close()


def _same_process(writer: RemoteSchema, spec: str, path: Path) -> None:
    """Locks of fcntl would be granted twice there, and be lost when a file is closed once."""
    writer.do(_check_refused, spec, path)
    writer.do(_open_each_file, path)
    _process(writer, spec, path)


def _child(writer: RemoteSchema, spec: str, path: Path) -> None:
    """A child has all that its parent has open, but not its threads."""
    done = writer.do(_done_in_a_child)
    if done:
        raise RivalryError(f"a child made by fork() may {done}")
    _check_goes_on(writer)
    writer.close()


def _killed(writer: RemoteSchema, spec: str, path: Path) -> None:
    """The child lives on, and has nothing of its parent's."""
    _check_goes_on(writer)
    child = writer.do(_sleeping_child)
    try:
        writer.kill()
        with open_schema(spec, path) as schema:
            _check_state(schema)
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


RIVALS: dict[str, Callable[[RemoteSchema, str, Path], None]] = {
    "process": _process,
    "same-process": _same_process,
    "child": _child,
    "killed": _killed,
}


def _check_refused(schema: Schema | None, spec: str, path: Path) -> None:
    try:
        open_schema(spec, path).close()
    except DatabaseLockedError as error:
        if str(path) not in str(error):
            raise RivalryError(f"no path in '{error}'") from error
    else:
        raise RivalryError("it is opened for writing twice")


def _check_goes_on(writer: RemoteSchema) -> None:
    writer.accept_block(BLOCKS[-1])
    writer.flush()
    _check_state(writer)


def _check_state(schema: Schema) -> None:
    newest = summarize(schema).newest_index
    if newest != BLOCKS[-1].index:
        raise RivalryError(f"flushed up to block {BLOCKS[-1].index}, it ends at {newest}")


def _open_each_file(schema: Schema, path: Path) -> None:
    for file in database_files(path):
        with suppress(FileNotFoundError), file.open("rb"):  # a merge may have removed it since
            pass


def _done_in_a_child(schema: Schema) -> str:
    """Fork. Returns what the child could do that changes the database."""

    def write(pipe: int) -> None:
        os.write(pipe, ", ".join(filter(None, map(_tried, _writes(schema)))).encode())

    child, done = _told_by_a_child(write)
    return done or _end_of(exit_code_of(child))


def _told_by_a_child(work: Callable[[int], None]) -> tuple[int, str]:
    """Fork. Returns the child's number, and what it writes to the pipe until that is closed."""
    ours, theirs = os.pipe()

    def timed() -> None:
        signal.alarm(int(LONGEST_SECONDS / 2))
        work(theirs)

    child = fork(timed)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        return child, pipe.read().decode()


def _end_of(exit_code: int) -> str:
    """What was wrong with how a child ended; empty if nothing was."""
    if exit_code == 0:
        return ""
    return "hang" if exit_code == -signal.SIGALRM else f"end with {exit_code}"


def _writes(schema: Schema) -> list[tuple[str, Callable[[], None]]]:
    return [
        ("accept a block", lambda: schema.accept_block(BLOCKS[-1])),
        ("flush", schema.flush),
        ("settle", lambda: settle(schema)),
        ("rewind", lambda: schema.rewind_to_block_index(0)),
    ]


def _tried(write: tuple[str, Callable[[], None]]) -> str | None:
    name, call = write
    try:
        call()
    except DatabaseError:  # a BlockError would refuse the block, and not the child
        return None
    except Exception as error:
        return f"{name} with {error_text(error)}"
    return name


def _sleeping_child(schema: Schema) -> int:
    """Fork. Returns the child's number, once it runs."""

    def sleep(pipe: int) -> None:
        os.close(pipe)
        signal.pause()

    child, _ = _told_by_a_child(sleep)
    return child

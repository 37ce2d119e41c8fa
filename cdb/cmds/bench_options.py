"""What the bench commands share: on what machine, where results go, what repeats it."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict

import click

from cdb.bench.results import RESULTS, require_validator
from cdb.cmds import echo
from cdb.cmds.lazy_group import letters
from cdb.cmds.options import PathType, directory_option
from cdb.disk.room import free_bytes_at
from cdb.errors import StorageError, storage_errors
from cdb.lab.profile import Profile, parse_profile
from cdb.report.units import size

DEFAULT_RUNS = 5
_PLACES = ("--dir", "--results")
"""Options of a directory, which is nobody else's."""

Command = Callable[..., None]


class ProfileType(click.ParamType[Profile]):
    """A profile by its name, or by own numbers."""

    name = "profile"

    def convert(
        self, value: str | Profile, param: click.Parameter | None, ctx: click.Context | None
    ) -> Profile:
        """See parse_profile."""
        try:
            return value if isinstance(value, Profile) else parse_profile(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def profile_option(default: str) -> Callable[[Command], Command]:
    """default: in words, for the help."""
    return click.option(
        "--profile",
        "profiles",
        type=ProfileType(),
        multiple=True,
        metavar="PROFILE",
        help="The machine: FAST (this one as it is), SLOW, SPINNING, or your own numbers, such as "
        f"mine:disk=30MB/s,iops=200,memory=2GB. May be given several times.  [default: {default}]",
    )


def _writable(context: click.Context, parameter: click.Parameter, value: Path) -> Path:
    """Raises what would come of a result: before hours of measuring."""
    require_validator()
    there = next(each for each in (value, *value.absolute().parents) if each.exists())
    with storage_errors(value), TemporaryDirectory(dir=there):
        return value


_results_option = click.option(
    "--results",
    callback=_writable,
    type=PathType(file_okay=False),
    default=RESULTS,
    show_default=True,
    metavar="DIR",
    help="Where to write a file for each run, in a folder for each machine.",
)
_machine_option = click.option(
    "--machine",
    metavar="NAME",
    help="What to call this machine.  [default: after its processor and memory]",
)
_restart_option = click.option(
    "--restart", is_flag=True, help="Don't go on with runs that were interrupted."
)


class Where(TypedDict):
    """What campaign_options() gives. results: the directory of all machines' results."""

    parent: Path
    results: Path
    machine: str | None
    restart: bool


def campaign_options(below: str) -> Callable[[Command], Command]:
    """Where a campaign is made, and whether from the beginning. below: what goes below --dir."""

    def add(command: Command) -> Command:
        command = _machine_option(_restart_option(command))
        return directory_option(f"Put {below} below this directory")(_results_option(command))

    return add


def command_line(arguments: Sequence[str], command: str) -> str:
    """What measures the same again by this bench command, wherever its user is."""
    program, *words = arguments
    if Path(program).stem != f"bench_{command}":
        words = words[[letters(word) for word in words].index(command) + 1 :]
    kept, skip = [], False
    for word in words:
        option, equals, _ = word.partition("=")
        if not skip and option not in ("--restart", *_PLACES):
            kept.append(word)
        skip = not skip and option in _PLACES and not equals
    return shlex.join(["cdb", "bench", command, *kept])


def note(line: str) -> None:
    """Say on standard error what goes on, unless --quiet was given."""
    echo.note(line)


def check_free(parent: Path, n_bytes: int) -> None:
    """Say how much space is needed. Raises StorageError when there is less."""
    free_bytes = free_bytes_at(parent)
    line = f"needs up to {size(n_bytes)}, of which {size(free_bytes)} are free"
    if n_bytes > free_bytes:
        raise StorageError(parent, f"it {line}; free some, or take another --dir")
    note(f"{parent.resolve()}: {line}")

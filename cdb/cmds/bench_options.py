"""What the bench commands share: which replays, how often, and where."""

import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from cdb.bench.plan import DATABASE_BYTES, Plan
from cdb.bench.profiles import Profile, parse_profile
from cdb.bench.results import require_validator
from cdb.cmds import echo
from cdb.cmds.bar import progress_bar
from cdb.cmds.options import PathType, directory_option, flush_every_option, quiet_option
from cdb.coins import MAX_U32
from cdb.disk.room import free_bytes_at
from cdb.durability import Durability
from cdb.errors import StorageError, storage_errors
from cdb.loader import DEFAULT_FLUSH_COINS
from cdb.mainnet_shape import MODEL_COINS, MODEL_HEIGHTS, mainnet_shaped_blocks
from cdb.replay import write_blocks
from cdb.report.units import size
from cdb.termination import end_at_sigterm

DEFAULT_RUNS = 5
TEXT_BYTES = 171  # a coin, with its share of spends and blocks

Command = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Source:
    """A replay that is there, or is to be made of so many heights or coins."""

    path: Path | None = None
    heights: int | None = None
    coins: int | None = None

    def __str__(self) -> str:
        if self.path is not None:
            return str(self.path)
        return f"{self.coins:,} coins" if self.heights is None else f"{self.heights:,} heights"

    def about_coins(self) -> int:
        """How many coins it has, roughly."""
        if self.path is not None:
            return self.path.stat().st_size // TEXT_BYTES
        if self.heights is not None:
            return self.heights * MODEL_COINS // MODEL_HEIGHTS
        return self.coins or 0

    def replay(self, directory: Path) -> Path:
        """The text; made in the directory, unless it is there."""
        if self.path is not None:
            return self.path
        path = directory / "replay.txt"
        blocks = mainnet_shaped_blocks(heights=self.heights, coins=self.coins)
        with (
            storage_errors(path),
            path.open("wb") as stream,
            progress_bar(total=self.about_coins(), unit=" coins") as bar,
        ):
            for block in blocks:
                write_blocks(stream, [block])
                bar.update(len(block.confirms))
        return path


MAINNET = Source(heights=MODEL_HEIGHTS)


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """The options of every bench command."""

    sources: list[Source]
    runs: int
    flush_coins: int
    durability: Durability
    parent: Path
    keep: bool = False

    @classmethod
    def of(
        cls,
        *,
        heights: tuple[int, ...],
        coins: tuple[int, ...],
        inputs: tuple[Path, ...],
        durability: str,
        runs: int | None,
        default_source: Source = MAINNET,
        default_runs: int = DEFAULT_RUNS,
        **others: Any,
    ) -> "BenchOptions":
        """From what the command line gives."""
        sources = [
            *(Source(path=path) for path in inputs),
            *(Source(coins=count) for count in coins),
            *(Source(heights=count) for count in heights),
        ]
        return cls(
            sources=sources or [default_source],
            durability=Durability(durability),
            runs=runs or default_runs,
            **others,
        )

    def plan(self, source: Source, directory: Path) -> Plan:
        """How to run on one replay, which is made if need be."""
        note(f"replay: {source}")
        return Plan(
            replay=source.replay(directory),
            directory=directory,
            runs=self.runs,
            flush_coins=self.flush_coins,
            durability=self.durability,
        )


def common_options(
    default_source: str = "mainnet's first 800,000 heights",
    default_runs: str = str(DEFAULT_RUNS),
) -> Callable[[Command], Command]:
    """Gives a command the options that BenchOptions.of takes; defaults in words, for the help."""
    options = (
        click.option(
            "--heights",
            type=click.IntRange(2, MAX_U32 + 1),
            multiple=True,
            metavar="N",
            help="Make a replay in mainnet's shape, of so many heights.",
        ),
        click.option(
            "--coins",
            type=click.IntRange(min=10),
            multiple=True,
            metavar="N",
            help="The same, of so many coins. Several sizes show how the cost per coin grows.",
        ),
        click.option(
            "--input",
            "inputs",
            type=PathType(exists=True, dir_okay=False),
            multiple=True,
            metavar="FILE",
            help=f"Take this replay.  [default, when no replay is asked for: {default_source}]",
        ),
        click.option(
            "--runs",
            type=click.IntRange(min=1),
            metavar="N",
            help=f"Measure everything so often.  [default: {default_runs}]",
        ),
        flush_every_option(
            DEFAULT_FLUSH_COINS,
            "Flush each time so many coins have come, by default as load_blocks does; all do, the "
            "floor included.",
        ),
        click.option(
            "--durability",
            type=click.Choice([level.value for level in Durability]),
            default=Durability.POWER.value,
            show_default=True,
            help="What a flush survives, the same for all; the floor syncs for power only.",
        ),
        directory_option("Put replays and databases below this directory"),
        quiet_option,
    )

    def with_options(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options


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
        help="The machine: FAST (this one as it is), SLOW, SPINNING, or own numbers such as "
        f"mine:disk=30MB/s,iops=200,memory=2GB. May be given several times.  [default: {default}]",
    )


def _writable(context: click.Context, parameter: click.Parameter, value: Path) -> Path:
    require_validator()
    return value


results_option = click.option(
    "--results",
    callback=_writable,
    type=PathType(file_okay=False),
    default=Path("results"),
    show_default=True,
    metavar="DIR",
    help="Where to write a file for each run, in a folder for each machine.",
)
machine_option = click.option(
    "--machine",
    metavar="NAME",
    help="What to call this machine.  [default: after its processor and memory]",
)
keep_option = click.option(
    "--keep", is_flag=True, help="Don't delete replays and databases at the end."
)


def command_line(arguments: Sequence[str], command: str) -> str:
    """What measures the same again by this bench command, wherever its user is."""
    program, *words = arguments
    if Path(program).stem != f"bench_{command}":
        words = words[words.index(command) + 1 :]
    kept, skip = [], False
    for word in words:
        if not skip and word not in ("--restart", "--dir") and not word.startswith("--dir="):
            kept.append(word)
        skip = not skip and word == "--dir"
    return shlex.join(["cdb", "bench", command, *kept])


def note(line: str) -> None:
    """Say on standard error what goes on, unless --quiet was given."""
    echo.note(line)


@contextmanager
def workplaces(options: BenchOptions, databases: int) -> Iterator[Iterator[tuple[Source, Path]]]:
    """Each source, with an empty directory, once there proved to be space for this many databases.

    At the end, however it comes, everything is deleted, unless it is to be kept.
    """
    check_space(options, databases)
    end_at_sigterm()
    place = Path(tempfile.mkdtemp(prefix="cdb-bench-", dir=options.parent))
    try:
        yield _directories(options, place)
    finally:
        if options.keep:
            note(f"kept: {place}")
        else:
            shutil.rmtree(place, ignore_errors=True)  # a workload that was broken off has a keeper
            if place.exists():
                shutil.rmtree(place)


def _directories(options: BenchOptions, place: Path) -> Iterator[tuple[Source, Path]]:
    for number, source in enumerate(options.sources):
        directory = place / str(number)
        directory.mkdir()
        yield source, directory
        if not options.keep:
            shutil.rmtree(directory)


def check_space(options: BenchOptions, databases: int) -> None:
    """Say how much space this takes. Raises StorageError when there is less."""
    needed = [
        source.about_coins() * (TEXT_BYTES * (source.path is None) + DATABASE_BYTES * databases)
        for source in options.sources
    ]
    check_free(options.parent, sum(needed) if options.keep else max(needed))


def check_free(parent: Path, n_bytes: int) -> None:
    """Say how much space is needed. Raises StorageError when there is less."""
    free_bytes = free_bytes_at(parent)
    line = f"needs up to {size(n_bytes)}, of which {size(free_bytes)} are free"
    if n_bytes > free_bytes:
        raise StorageError(parent, f"it {line}; free some, or take another --dir")
    note(f"{parent.resolve()}: {line}")

"""Shared by all tests: a small replay, databases that hold it, and commands run as users do."""

import hashlib
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from hypothesis import HealthCheck, settings

import cdb
from cdb.contents.loader import Loader
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.packed import PackedBlocks
from cdb.errors import SchemaError
from cdb.schemas import Schema, SchemaInfo, find_schema
from cdb.schemas.registry import OWN_SCHEMAS
from cdb.stores.rows.index import IndexFactory
from cdb.stores.rows.opening import open_indexed
from cdb.text.mainnet_shape import mainnet_shaped_blocks
from cdb.text.replay import block_text
from tests import served
from tests.engines import is_where_asked, repeats_another

# What a script runs in the background ignores Ctrl-C, and so would all that tests send it to.
signal.signal(signal.SIGINT, signal.default_int_handler)
# On a busy machine slow is no failure.
CALM = settings(database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])

SMALL_COINS = 2_000
COMMAND_SECONDS = 60
ROWS_WITH_INDEX = "flat_file"
"""The schema that stands for all that are coin rows with an index."""
PACKAGE_PARENT = Path(cdb.__file__).parents[1]
ROOT = Path(__file__).parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what make test-engines and its long part run."""
    for item in filter(repeats_another, items):
        item.add_marker("long")
    for item in filter(is_where_asked, items):
        item.add_marker("asked_for")


def own_schemas() -> list[ParameterSet]:
    """The names of cdb's schemas that keep the contract; those that can't be had are skipped.

    Of those that are coin rows with an index one stands for all; the others are for long tests.
    """
    return [parameter for name in OWN_SCHEMAS for parameter in _schema_parameter(name)]


def _schema_parameter(name: str) -> list[ParameterSet]:
    try:
        found = find_schema(name)
    except SchemaError as error:  # test_registry fails then
        return [pytest.param(name, marks=pytest.mark.skip(reason=f"{name}: {error}"))]
    if not found.spec.keeps_contract:
        return []
    if found.spec.takes_url:
        reason = f"{name}: it needs servers; 'make cluster-tests' starts them"
        return [pytest.param(name, marks=pytest.mark.skip(reason=reason))]
    marks = [pytest.mark.skip(reason=f"{name}: {found.missing}")] if found.missing else []
    if index_factory_of(found.spec.factory) is not None and name != ROWS_WITH_INDEX:
        marks.append(pytest.mark.long)
    return [pytest.param(name, marks=marks)]


def ready_schemas() -> list[str]:
    """The names of cdb's schemas that keep the contract and can be used here."""
    return [
        str(parameter.values[0])
        for parameter in own_schemas()
        if all(mark.name != "skip" for mark in parameter.marks)
    ]


def index_factories() -> dict[str, IndexFactory]:
    """What opens the index of each schema that can be used here and is coin rows with an index."""
    found = {name: index_factory_of(find_schema(name).spec.factory) for name in ready_schemas()}
    return {name: factory for name, factory in found.items() if factory is not None}


def index_factory_of(schema: object) -> IndexFactory | None:
    """What opens the index of a schema that is a partial of open_indexed; of any other one None."""
    if isinstance(schema, partial) and schema.func is open_indexed:
        factory: IndexFactory = schema.args[1]
        return factory
    return None


def set_version(path: Path, version: int) -> None:
    """Have a closed database say that it is of this version of its format."""
    if path.is_dir():
        cdb, schema, before, *extra = (path / "FORMAT").read_text().split()
        assert before != str(version)
        (path / "FORMAT").write_text(" ".join([cdb, schema, str(version), *extra]) + "\n")
    elif path.read_bytes().startswith(b"SQLite"):
        with closing(sqlite3.connect(path)) as connection, connection:
            changed = connection.execute("UPDATE cdb_format SET version = ?", (version,))
            assert changed.rowcount == 1
    else:
        first_line, newline, rest = path.read_bytes().partition(b"\n")
        path.write_bytes(b"%s %d" % (first_line.rpartition(b" ")[0], version) + newline + rest)
        assert not path.read_bytes().startswith(first_line + newline)


def text_of(blocks: Iterable[BlockSpendInfo]) -> bytes:
    """The blocks as canonical replay text."""
    return b"".join(map(block_text, blocks))


def digest_of(blocks: Iterable[BlockSpendInfo]) -> str:
    """The state digest after these canonical blocks, by its specification alone."""
    blocks = list(blocks)
    spent = {name: block.index for block in blocks for name in block.spends}
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block.index.to_bytes(4, "big"))
        digest.update(block.timestamp.to_bytes(8, "big"))
        digest.update(len(block.confirms).to_bytes(4, "big"))
        for coin in block.confirms:
            digest.update(coin.name())
            digest.update(block.index.to_bytes(4, "big"))
            digest.update(spent.get(coin.name(), 0).to_bytes(4, "big"))
    return digest.hexdigest()


def load_all(schema: Schema, blocks: Iterable[BlockSpendInfo]) -> None:
    """Load the blocks and flush."""
    for _ in Loader(schema).load([PackedBlocks.of(blocks)]):
        pass


def contents(directory: Path) -> dict[str, bytes | None]:
    """Everything below a directory: the bytes of files, None for directories."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in directory.rglob("*")
    }


def copy_at_rest(source: Path, target: Path, *without: str) -> Path:
    """A copy of an open database, but these files, as of a moment in which no thread of it wrote.

    What an engine merges or removes meanwhile would leave a file missing, or an older one beside a
    newer manifest, which no crash does.
    """
    while True:
        shutil.rmtree(target, ignore_errors=True)
        with suppress(shutil.Error, FileNotFoundError):
            before = contents(source)
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(*without))
            if contents(source) == before:
                return target


def stored(directory: Path, *shared: str) -> dict[str, bytes | None]:
    """The same but SQLite's -shm and MDBX's .lck, or what ends otherwise: memory that readers
    share, not data."""
    ends = shared or ("-shm", ".lck")
    files = contents(directory)
    return {name: data for name, data in files.items() if not name.endswith(ends)}


def closed(directory: Path) -> dict[str, bytes | None]:
    """The same where nobody has a database open: only engines leave such memory then."""
    return stored(directory, "db/data.sqlite-shm", "db/mdbx.lck")


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it printed."""

    code: int
    out: bytes
    err: str

    def fine(self) -> "Result":
        """This, once it has proved to be no error."""
        assert self.code == 0, self.err
        assert "Traceback" not in self.err
        return self

    def error(self) -> str:
        """The one line of an error; fails unless that is all there is."""
        assert self.code == 1, (self.code, self.err)
        assert self.err.startswith("error: "), self.err
        assert self.err.count("\n") == 1, self.err
        assert self.err.endswith("\n")
        return self.err.removeprefix("error: ").removesuffix("\n")

    def usage_error(self) -> str:
        """The text of a usage error; fails unless it is one."""
        assert self.code == 2, (self.code, self.err)
        assert self.err.startswith(("Usage: ", "error: ")), self.err
        assert "Error: " not in self.err
        assert "Traceback" not in self.err
        assert self.out == b""
        return self.err


class Commands:
    """Runs commands in one directory, as ``python -m cdb.cmds.NAME``, and ends what is left.

    server: the socket of tests/served.py.
    """

    def __init__(self, cwd: Path, server: Path) -> None:
        self.cwd = cwd
        self._server = server
        self._started: list[subprocess.Popen[bytes]] = []

    def __call__(
        self,
        name: str,
        *args: object,
        input: bytes = b"",
        timeout_seconds: float = COMMAND_SECONDS,
        **options: Any,
    ) -> Result:
        """Run a command to its end; with options of Popen in a Python of its own."""
        if options:
            process = self.start(name, *args, **options)
            out, err = process.communicate(input, timeout=timeout_seconds)
            return Result(process.returncode, out or b"", (err or b"").decode())
        line = [name, *map(str, args)]
        code, out, err = served.ask(
            self._server, line, self.cwd, input, timeout_seconds=timeout_seconds
        )
        return Result(code, out, err.decode())

    def start(self, name: str, *args: object, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command with pipes to and from it."""
        line = [sys.executable, "-m", f"cdb.cmds.{name}", *map(str, args)]
        return self.popen(line, **options)

    def popen(
        self, line: list[str], env: dict[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start any program so that it finds the cdb under test; env: more of the environment."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        paths = [str(PACKAGE_PARENT), os.environ.get("PYTHONPATH", "")]
        env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))} | (env or {})
        process = subprocess.Popen(line, **{"cwd": self.cwd, "env": env, **pipes, **options})
        self._started.append(process)
        return process

    def end(self) -> None:
        """Kill what still runs, and close all pipes."""
        for process in self._started:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with suppress(BrokenPipeError):  # nobody reads what is still to be written
                        pipe.close()


def file_limit(size_bytes: int) -> dict[str, Any]:
    """Options of a command whose files may not grow beyond a size: as near to a full disk as a
    process gets by itself.

    It writes no bytecode: Python 3.11 takes half a file of it for a whole one, from then on.
    """
    limits = (size_bytes, size_bytes)
    return {
        "preexec_fn": partial(resource.setrlimit, resource.RLIMIT_FSIZE, limits),
        "env": {"PYTHONDONTWRITEBYTECODE": "1"},
    }


@contextmanager
def largest_file(size_bytes: int) -> Iterator[None]:
    """The same for this process, meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = writes_none
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mounts a disk of so many KiB, or changes the size of the one that is mounted."""
    yield from small_disk(tmp_path / "disk")


def small_disk(path: Path, *unmounted: str) -> Iterator[Callable[[int], Path]]:
    """What mounts it at a path. unmounted: umount's options; without one nobody may use it."""
    path.mkdir()

    def mount(kib: int) -> Path:
        if os.geteuid() != 0:
            pytest.skip("only root can mount a small disk")
        mounted = ["-o", f"remount,size={kib}k"] if path.is_mount() else ["-o", f"size={kib}k"]
        line = ["mount", "-t", "tmpfs", *mounted, "tmpfs", str(path)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"can't mount a small disk here: {done.stderr.strip()}")
        return path

    yield mount
    if path.is_mount():
        subprocess.run(["umount", *unmounted, str(path)], check=True)


def fill(disk: Path) -> None:
    """Write to a disk until it is full."""
    with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(4096))


@pytest.fixture
def disk_path() -> Iterator[Path]:
    """An empty directory on a disk, also where scripts/in-memory has temporary files elsewhere."""
    disk = Path("/var/tmp")  # noqa: S108 - of files that outlive a start of the machine
    with tempfile.TemporaryDirectory(dir=disk if disk.is_dir() else None) as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
def command_server() -> Iterator[Path]:
    """The socket of a process that runs commands."""
    with tempfile.TemporaryDirectory() as directory:  # a socket's path has to be short
        path = Path(directory) / "socket"
        line = [sys.executable, "-m", served.__name__, str(path)]
        with subprocess.Popen(line, cwd=ROOT, stdin=subprocess.PIPE, start_new_session=True):
            deadline = time.monotonic() + COMMAND_SECONDS
            while not path.exists():
                assert time.monotonic() < deadline, "the server of commands did not start"
                time.sleep(0.01)
            yield path


@pytest.fixture
def run_command(tmp_path: Path, command_server: Path) -> Iterator[Commands]:
    """Runs commands in tmp_path."""
    commands = Commands(tmp_path, command_server)
    yield commands
    commands.end()


@pytest.fixture(params=own_schemas())
def own_schema(request: pytest.FixtureRequest) -> SchemaInfo:
    """Each of cdb's schemas that keep the contract."""
    return find_schema(request.param)


@pytest.fixture(scope="session")
def blocks() -> tuple[BlockSpendInfo, ...]:
    """Valid canonical blocks of 2,000 coins. Not to be changed."""
    return tuple(mainnet_shaped_blocks(coins=SMALL_COINS))


@pytest.fixture(scope="session")
def replay(blocks: tuple[BlockSpendInfo, ...]) -> bytes:
    """The blocks as canonical replay text."""
    return text_of(blocks)


@pytest.fixture(scope="session")
def digest(blocks: tuple[BlockSpendInfo, ...]) -> str:
    """The state digest after the blocks."""
    return digest_of(blocks)


@pytest.fixture(scope="session")
def _master_databases(
    tmp_path_factory: pytest.TempPathFactory, blocks: tuple[BlockSpendInfo, ...]
) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def directory(schema: str) -> Path:
        if schema not in made:
            made[schema] = tmp_path_factory.mktemp(f"master_{schema}")
            with find_schema(schema).open(made[schema] / f"{schema}.db") as database:
                load_all(database, blocks)
        return made[schema]

    return directory


@pytest.fixture
def loaded(_master_databases: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """Makes a database of a schema that holds the blocks; its path is tmp_path/SCHEMA.db."""

    def copy(schema: str) -> Path:
        shutil.copytree(_master_databases(schema), tmp_path, dirs_exist_ok=True)
        return tmp_path / f"{schema}.db"

    return copy

"""What all trials share: where databases are made, and for how long somebody may be silent."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cdb.errors import UnsupportedError
from cdb.schemas import SchemaInfo, find_schema

DATABASE = "db"
LONGEST_SECONDS = 60.0
"""How long a script may be silent."""
MEMORY = Path("/dev/shm")  # noqa: S108 - where Linux has a file system in memory


def usable(spec: str) -> SchemaInfo:
    """Find a schema. Raises UnsupportedError when it can't be used on this machine."""
    info = find_schema(spec)
    if info.missing is not None:
        raise UnsupportedError(info.missing)
    return info


def length(most: int | None, only: str | None, whole: int) -> int:
    """How many points a trial has of which each needs those before it; only names the last one."""
    return int(only) if only is not None and only.isdigit() else most or whole


@contextmanager
def scratch(*, on_disk: bool = False) -> Iterator[Path]:
    """A directory for trials, in memory where there is such a thing: they sync a lot."""
    memory = MEMORY if MEMORY.is_dir() and not on_disk else None
    with TemporaryDirectory(prefix="cdb-faults-", dir=memory) as directory:
        yield Path(directory)


def new_directory(path: Path) -> Path:
    """Make an empty directory, instead of what is there; its parent must exist."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path

"""Which software measures and is measured."""

import platform
import sqlite3
from pathlib import Path

import cdb
from cdb.engines import ENGINES, Engine
from cdb.extensions import installed_version
from cdb.process.children import output_of
from cdb.schemas import find_schema


def software_versions() -> dict[str, str | bool | None]:
    """Versions; and of the checkout that cdb was imported from, the commit and whether it differs.

    None is what isn't here, or isn't known.
    """
    commit = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain", "--", "cdb", "native")
    return {
        "python_version": platform.python_version(),
        **{f"{name}_version": _engine_version(engine) for name, engine in ENGINES.items()},
        # Last: the schemas of Python's sqlite3 are here where SQLite as an engine is not built.
        "sqlite_version": sqlite3.sqlite_version,
        "cdb_version": installed_version(),
        "git_commit": commit,
        "git_dirty": None if changes is None else changes != "",
    }


def _engine_version(engine: Engine) -> str | None:
    schema = find_schema(engine.schema)
    if schema.missing:
        return None
    return schema.versions()[0].split()[1]


def _git(*arguments: str) -> str | None:
    checkout = Path(cdb.__file__).resolve().parents[1]
    if not (checkout / ".git").exists():
        return None
    # Root measures what somebody else may have checked out.
    trusted = f"safe.directory={checkout}"
    return output_of("git", "-c", trusted, "-C", str(checkout), *arguments)

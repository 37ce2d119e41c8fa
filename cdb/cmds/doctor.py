"""doctor: what is installed, what is missing and what gives it, and what the disk here promises."""

import json
import platform
import sys
from dataclasses import asdict
from pathlib import Path

import click

from cdb.chia.full_node import missing_chia
from cdb.cmds.echo import echo, echo_json, echo_line
from cdb.cmds.options import PathType, json_option
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.errors import (
    StorageError,
    UnknownSchemaError,
    UnsupportedError,
    WrongDatabaseError,
    reason_of,
)
from cdb.extensions import installed_version
from cdb.extensions.built import built_file
from cdb.extensions.native import native_scanner
from cdb.lab.traits import Traits, traits
from cdb.process.termination import end_at_sigterm
from cdb.schemas import find_schema, schema_names
from cdb.schemas.registry import layout_names

_CHIA = "chia-blockchain"
_BILL = "bundled.cdx.json"
"""In the package: what native/bundled/ has put into its extensions."""


@click.command("doctor")
@click.argument(
    "directory",
    type=PathType(exists=True, file_okay=False),
    metavar="[DIR]",
    default=Path(),
)
@json_option
def doctor(*, directory: Path, as_json: bool) -> None:
    """Say what is installed, what is missing and what gives it, and what the disk of DIR can do.

    Libraries are in the package (bundled), or the system's. DIR, the current directory by default,
    is written to for a second: how long a sync takes, whether files can be mapped and locked.

    chia-blockchain is only needed to run a node on cdb, in the environment that the node runs in.

    The exit code is 1 where a schema of a plain installation is missing, or DIR has a problem.

    \b
    Examples:
      cdb doctor
      cdb doctor /mnt/chain --json | jq .directory
    """
    end_at_sigterm()
    missing, libraries = _schemas(built_file(_BILL))
    lacking = {name: why for name, why in missing.items() if not _is_asked_for(name)}
    left_out = [name for name in schema_names() if name in missing and name not in lacking]
    software = {
        "cdb": installed_version() or "not installed",
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    no_chia = missing_chia()
    version = None if no_chia else installed_version(_CHIA) or "of unknown version"
    found = _traits(directory)
    if as_json:
        echo_json(
            {
                **software,
                _CHIA: version,
                "libraries": libraries,
                "missing": missing,
                "directory": {"path": str(directory), **asdict(found)},
            }
        )
    else:
        echo_line(f"cdb {software['cdb']}, Python {software['python']}, {software['system']}")
        echo("\n" + table([[name, *each] for name, each in libraries.items()], frozenset(range(3))))
        echo("")
        if left_out:
            echo_line(f"installed where asked: {', '.join(left_out)}; cdb schemas says how")
        for name, why in lacking.items():
            echo_line(f"missing: {name}: {why}")
        if not lacking:
            echo("All schemas are ready.")
        echo_line(f"to run a node on cdb: {no_chia or f'{_CHIA} {version} is installed'}")
        about = found.file_system or "a file system that is not known"
        about = f"{about}, {found.free_bytes / 1e9:,.1f} GB free"
        echo_line(f"{directory.resolve()}: {about}, {found.fdatasync_microseconds:.0f} µs a sync")
        for problem in found.problems:
            echo_line(f"problem: {problem}")
    if lacking or found.problems:
        sys.exit(1)


def _is_asked_for(name: str) -> bool:
    """Whether a schema that is missing is no part of a plain installation."""
    try:
        return find_schema(name).spec.is_asked_for
    except (UnknownSchemaError, UnsupportedError):  # the scanner, and what is no schema
        return False


def _traits(directory: Path) -> Traits:
    """Raises DatabaseError where nothing can be written in the directory."""
    if not directory.is_dir():
        raise WrongDatabaseError(directory, "this is no directory; name one")
    try:
        return traits(directory)
    except OSError as error:
        problem = f"no file can be written there: {reason_of(error)}"
        raise StorageError(directory, problem, "name another directory") from error


def _schemas(bill: Path) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """What can't be used, and what to do; and the libraries, each with its version, and whether it
    is bundled or the system's. Both by names; bill: where what is bundled stands."""
    told = {"the scanner": native_scanner.missing()}
    components = json.loads(bill.read_text("utf-8"))["components"] if bill.exists() else []
    libraries = {each["name"]: (each["version"], "bundled") for each in components}
    for name in (*schema_names(), *layout_names()):
        try:
            schema = find_schema(name)
            told[name] = schema.missing
            versions = [] if schema.missing else schema.versions()  # somebody's may fail
        except (UnknownSchemaError, UnsupportedError) as error:
            told[name] = str(error)
            continue
        for library, _, version in (each.rpartition(" ") for each in versions):
            libraries[library] = (version, libraries.get(library, ("", "the system's"))[1])
    if native_scanner.missing() is None:
        scanner = native_scanner.load()
        openssl = scanner.ffi.string(scanner.lib.cdb_openssl_version()).decode("ascii").split()
        if openssl:
            libraries[openssl[0]] = (openssl[1], "the system's")
    missing = {name: why for name, why in told.items() if why is not None}
    return missing, dict(sorted(libraries.items(), key=lambda item: (item[1][1], item[0])))


if __name__ == "__main__":
    run(doctor)

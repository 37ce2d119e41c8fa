"""Results: one JSON file a run, checked against result.schema.json, written once and never again.

results/MACHINE/DATE-SCHEMA-PROFILE-COINS-RUN.json
"""

import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from cdb.disk.files import fsync_dir, write_output
from cdb.errors import CdbError, MissingEngineError, explained, storage_errors

VERSION = 1
MAX_NAME = 80  # of a machine, a schema or a profile, in a path
MAX_BYTES = 64 * 2**20
_NAMED = ("machine", "schema", "profile")

Document = dict[str, Any]
"""A run; its shape is that of result.schema.json."""


class ResultError(CdbError):
    """A file of results can't be read, or is not what it should be."""


def write_result(directory: Path, document: Document) -> Path:
    """Write a run into the folder of its machine, in one step; durable when this returns.

    Raises ResultError when it is not valid, StorageError, and never replaces a file.
    """
    check(document, "the result to be written")
    path = directory / place_of(document)
    folder = path.parent
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    fsync_dir(folder.parent)
    if path.exists() or path.is_symlink():
        raise ResultError(f"{path} is there already; results are never written again")
    write_output(path, text_of(document).encode())
    return path


def read_results(places: Iterable[Path]) -> list[Document]:
    """The runs in files, and in all .json files below directories, in the order of their beginning.

    Raises ResultError, with the file and what is wrong.
    """
    documents = [read_result(path) for place in places for path in files_at(place)]
    return sorted(documents, key=lambda each: (each["begun"], each["schema"]["name"]))


def read_result(path: Path) -> Document:
    """The run that a file holds. Raises ResultError."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise ResultError(f"{path} has more than {MAX_BYTES:,} bytes, as no result has")
        document = json.loads(text.decode("utf-8"))
        check(document, str(path))
    except OSError as error:
        raise ResultError(f"{path}: {explained(error)}") from error
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{path} is no JSON: {error}") from error
    checked: Document = document
    return checked


def check(document: object, where: str) -> None:
    """Raise ResultError unless a document is a run's."""
    error = min(_validator().iter_errors(document), key=_depth, default=None)
    if error is not None:
        problem = " ".join(error.message.split())[:200]
        raise ResultError(f"{where}: {error.json_path}: {problem}")


def _depth(error: Any) -> int:
    return len(error.path)


@cache
def _validator() -> Any:
    try:
        from jsonschema import Draft202012Validator
    except ImportError as error:
        problem = "results are checked by jsonschema: pip install 'cdb[bench]'"
        raise MissingEngineError(problem) from error
    schema = json.loads(files("cdb.bench").joinpath("result.schema.json").read_text("utf-8"))
    return Draft202012Validator(schema)


def files_at(place: Path) -> list[Path]:
    """The file, or all .json files below the directory."""
    if place.is_dir():
        # A pipe would be waited for.
        return sorted(path for path in place.rglob("*.json") if path.is_file())
    return [place]


def place_of(document: Document) -> Path:
    """A run's file, in the folder of its machine; whatever the names in it are."""
    date = document["begun"].translate(str.maketrans("", "", "-:\n"))
    machine, schema, profile = (_plain(document[of]["name"]) for of in _NAMED)
    coins = document["replay"]["coins"]
    folder = re.sub(r"^\.|^$", "-", machine)  # neither .. nor hidden
    return Path(folder, f"{date}-{schema}-{profile}-{coins}-{document['run']}.json")


def _plain(name: str) -> str:
    """A name as a part of one in a path."""
    return "".join(c if c.isalnum() or c in "_.-" else "-" for c in name[:MAX_NAME])


def text_of(document: Document) -> str:
    """What a run's file says: a line a case, so that a difference between two files can be read."""
    parts = dict(document)
    cases = ",\n".join(json.dumps(case, allow_nan=False) for case in parts.pop("cases"))
    head = json.dumps(parts, indent=1, allow_nan=False).removesuffix("\n}")
    return f'{head},\n "cases": [\n{cases}\n ]\n}}\n'

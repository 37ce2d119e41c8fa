"""Results: JSON files, each checked against the schema of its kind, written once and never again.

MACHINE/DATE-SCHEMA-PROFILE-COINS-RUN.json    a run of a schema: result.schema.json
MACHINE/DATE-node-PROFILE-COINS.json          a comparison of a node's coin stores, which says so in
                                              "kind": node.schema.json
MACHINE/DATE-week-PROFILE-COINS.json          one of a node's week, which has the key "week"
MACHINE/DATE-engines-PROFILE-SHAPE.json       layouts and engines below the coin set:
                                              engines.schema.json
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

RESULTS = Path("bench-results")
"""Where they are unless somebody says so: results/ of a checkout has those that are published."""
VERSION = 1
MAX_NAME = 80  # of a machine, a schema or a profile, in a path
MAX_BYTES = 64 * 2**20
NODE, WEEK, ENGINES = "node", "week", "engines"
_SCHEMAS = {
    None: "result.schema.json",
    NODE: "node.schema.json",
    ENGINES: "engines.schema.json",
}
"""By what "kind" says."""

Document = dict[str, Any]
"""A run or a comparison; its shape is that of its kind's schema."""


class ResultError(CdbError):
    """A file of results can't be read, or is not what it should be."""


def write_result(directory: Path, document: Document) -> Path:
    """Write a result into the folder of its machine, in one step; durable when this returns.

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

    All else is left out.

    Raises ResultError, with the file and what is wrong.
    """
    documents = [read_result(path) for place in places for path in files_at(place)]
    documents = [document for document in documents if is_run(document)]
    return sorted(documents, key=lambda each: (each["begun"], each["schema"]["name"]))


def read_result(path: Path) -> Document:
    """What a file holds. Raises ResultError."""
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
    """Raise ResultError unless a document is of a kind that there is, and all that its kind is."""
    kind = document.get("kind") if isinstance(document, dict) else None
    is_known = isinstance(kind, str | None) and kind in _SCHEMAS
    if not is_known or (kind is None and not is_run(document)):
        problem = f"{str(kind)[:MAX_NAME]!r} is no kind of result that this cdb knows"
        raise ResultError(f"{where}: $.kind: {problem}")
    name = _SCHEMAS[kind]
    error = min(_validator(name).iter_errors(document), key=_depth, default=None)
    if error is not None:
        problem = " ".join(error.message.split())[:200]
        raise ResultError(f"{where}: {error.json_path}: {problem}")


def require_validator() -> None:
    """Raise MissingEngineError where what checks results isn't there: before hours of measuring."""
    _validator("result.schema.json")


def is_run(document: object) -> bool:
    """Whether it is of a schema, and so of no "kind"."""
    return not (isinstance(document, dict) and "kind" in document)


def is_comparison(document: object) -> bool:
    """Whether it is of a node's coin stores."""
    return isinstance(document, dict) and document.get("kind") == NODE


def is_of_engines(document: object) -> bool:
    """Whether it is of layouts and engines below the coin set."""
    return isinstance(document, dict) and document.get("kind") == ENGINES


def _depth(error: Any) -> int:
    return len(error.path)


@cache
def _validator(name: str) -> Any:
    try:
        from jsonschema import Draft202012Validator
        from referencing import Registry, Resource
    except ImportError as error:
        problem = "results are checked by jsonschema: pip install 'coinset-db[bench]'"
        raise MissingEngineError(problem) from error
    # What all kinds have in common is in the first.
    common = "result.schema.json"
    registry = Registry().with_resource(common, Resource.from_contents(_schema(common)))
    return Draft202012Validator(_schema(name), registry=registry)


def _schema(name: str) -> Any:
    return json.loads(files("cdb.bench").joinpath(name).read_text("utf-8"))


def files_at(place: Path) -> list[Path]:
    """The file, or all .json files below the directory."""
    if place.is_dir():
        # A pipe would be waited for.
        return sorted(path for path in place.rglob("*.json") if path.is_file())
    return [place]


def place_of(document: Document) -> Path:
    """A result's file, in the folder of its machine; whatever the names in it are."""
    date = document["begun"].translate(str.maketrans("", "", "-:\n"))
    machine, profile = (_plain(document[of]["name"]) for of in ("machine", "profile"))
    folder = re.sub(r"^\.|^$", "-", machine)  # neither .. nor hidden
    if is_comparison(document):
        what = WEEK if WEEK in document else NODE
        return Path(folder, f"{date}-{what}-{profile}-{document['chain']['coins']}.json")
    if is_of_engines(document):
        shape = _plain(document["shape"]["name"])
        return Path(folder, f"{date}-{ENGINES}-{profile}-{shape}.json")
    schema, coins = _plain(document["schema"]["name"]), document["replay"]["coins"]
    return Path(folder, f"{date}-{schema}-{profile}-{coins}-{document['run']}.json")


def _plain(name: str) -> str:
    """A name as a part of one in a path."""
    return "".join(c if c.isalnum() or c in "_.-" else "-" for c in name[:MAX_NAME])


def text_of(document: Document) -> str:
    """What a result's file says: a line a case, so that a difference between two can be read."""
    if is_run(document):
        return f"{_text(document, 'cases', map(_line, document['cases']))}\n"
    rounds = (_text(each, "cases", map(_line, each["cases"])) for each in document["rounds"])
    return f"{_text(document, 'rounds', rounds)}\n"


def _text(parts: Document, last: str, texts: Iterable[str]) -> str:
    """Parts, of which the last is a list whose members are texts already."""
    head = {name: part for name, part in parts.items() if name != last}
    text = json.dumps(head, indent=1, allow_nan=False).removesuffix("\n}")
    members = ",\n".join(texts)
    return f'{text},\n "{last}": [\n{members}\n ]\n}}'


def _line(case: Document) -> str:
    return json.dumps(case, allow_nan=False)

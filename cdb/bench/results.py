"""Results: JSON files, each checked against result.schema.json, written once and never again.

A file is a run: one contestant, in one round, over one set of data, on one profile. Its "kind" says
of what: of schemas, of a node's coin stores call by call or through a week, or of layouts and
engines below the coin set. It is MACHINE/DATE-CONTESTANT-PROFILE-SIZE-RUN.json, with the kind
before the contestant unless that is a schema, and a line for each case.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from cdb.bench.case import EMPTY_CASE
from cdb.disk.files import fsync_dir, write_output
from cdb.errors import CdbError, MissingEngineError, explained, storage_errors

RESULTS = Path("bench-results")
"""Where they are unless somebody says so: results/ of a checkout has those that are published."""
VERSION = 2
MAX_NAME = 80  # of a machine, a contestant or a profile, in a path
MAX_BYTES = 64 * 2**20
DIGITS = 8
"""Of a figure that was measured: more are noise."""

STORES = ("chia", "cdb")
"""A node's, theirs and ours, by the names that results have for them."""
Document = dict[str, Any]
"""A run, as result.schema.json has it; each of its cases has all keys of one, see Case."""


class Kind(StrEnum):
    """What contestants are."""

    SCHEMAS = "schemas"
    PAIRS = "pairs"
    NODE = "node"
    WEEK = "week"
    LAYOUTS = "layouts"


class ResultError(CdbError):
    """A file of results can't be read, or is not what it should be."""


def rounded(value: Any) -> Any:
    """What was measured, with DIGITS of each number that is no whole one."""
    if isinstance(value, Mapping):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


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
    """Those in files, and in all .json files below directories, in the order of their beginning.

    Raises ResultError, with the file and what is wrong.
    """
    return sorted((read_result(path) for place in places for path in files_at(place)), key=order_of)


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
    cases = [{**EMPTY_CASE, **case} for case in document["cases"]]
    return {**document, "cases": cases}


def check(document: object, where: str) -> None:
    """Raise ResultError unless a document is a result, and of this format."""
    version = document.get("version") if isinstance(document, dict) else None
    if isinstance(version, int) and version != VERSION:
        problem = f"a result of format {version!s:.20}, and this cdb reads format {VERSION} only"
        raise ResultError(f"{where}: {problem}: measure again, and take the old one away")
    error = min(_validator().iter_errors(document), key=_depth, default=None)
    if error is not None:
        problem = " ".join(error.message.split())[:200]
        raise ResultError(f"{where}: {error.json_path}: {problem}")


def require_validator() -> None:
    """Raise MissingEngineError where what checks results isn't there: before hours of measuring."""
    _validator()


def order_of(document: Document) -> tuple[str, str, int]:
    """What results are sorted by."""
    return document["begun"], document["contestant"]["name"], document["run"]


Asked = tuple[str, ...]
"""A question, and among whom."""


def answers_of(document: Document) -> Iterator[tuple[Asked, str]]:
    """What all of a matrix have to answer alike: each question, and the digest of the answers."""
    among = (*(document[of]["name"] for of in ("machine", "profile")), document["matrix"]["id"])
    for case in document["cases"]:
        if case["answers"] is not None:
            parameters = json.dumps(case["parameters"], sort_keys=True)
            yield (
                (*among, document["data"]["source"], case["workload"], parameters),
                case["answers"],
            )


def differing(document: Document, told: Mapping[Asked, str]) -> str | None:
    """What a run answers otherwise than one before it; None where nothing."""
    for asked, answers in answers_of(document):
        if told.get(asked, answers) != answers:
            who = f"{document['contestant']['name']} in round {document['run']}"
            *_, workload, parameters = asked
            problem = f"the answers of {who} are others than those of a run before"
            return f"{workload} {parameters}: {problem}"
    return None


def _depth(error: Any) -> int:
    return len(error.path)


@cache
def _validator() -> Any:
    try:
        from jsonschema import Draft202012Validator
    except ImportError as error:
        problem = "results are checked by jsonschema: pip install 'coinset-db[bench]'"
        raise MissingEngineError(problem) from error
    text = files("cdb.bench").joinpath("result.schema.json").read_text("utf-8")
    return Draft202012Validator(json.loads(text))


def files_at(place: Path) -> list[Path]:
    """The file, or all .json files below the directory."""
    if place.is_dir():
        # A pipe would be waited for.
        return sorted(path for path in place.rglob("*.json") if path.is_file())
    return [place]


def place_of(document: Document) -> Path:
    """A result's file, in the folder of its machine; whatever the names in it are."""
    date = document["begun"].translate(str.maketrans("", "", "-:\n"))
    data, kind = document["data"], document["kind"]
    names = [kind] if kind != Kind.SCHEMAS else []
    names += [document[of]["name"] for of in ("contestant", "profile")]
    size = str(data.get("coins", data["source"]))
    plain = "-".join(_plain(name) for name in (*names, size))
    return Path(folder_of(document["machine"]["name"]), f"{date}-{plain}-{document['run']}.json")


def folder_of(machine: str) -> str:
    """The folder of a machine's results, which is neither .. nor hidden."""
    return re.sub(r"^\.|^$", "-", _plain(machine))


def _plain(name: str) -> str:
    """A name as a part of one in a path."""
    return "".join(c if c.isalnum() or c in "_.-" else "-" for c in name[:MAX_NAME])


def text_of(document: Document) -> str:
    """What a result's file says: a line for each key, and for each case, without what it has not.

    So a difference between two can be read.
    """
    lines = [f'"{name}":{_json(part)}' for name, part in document.items() if name != "cases"]
    cases = (
        {name: part for name, part in case.items() if part != EMPTY_CASE[name]}
        for case in document["cases"]
    )
    text = ",\n".join(map(_json, cases))
    return "{" + ",\n".join(lines) + f',\n"cases":[\n{text}\n]}}\n'


def _json(part: object) -> str:
    return json.dumps(part, allow_nan=False, separators=(",", ":"))

"""Reads results for a report: valid ones, each once, that can stand beside each other."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cdb.bench.results import (
    Asked,
    Document,
    ResultError,
    answers_of,
    differing,
    files_at,
    order_of,
    read_result,
)

GREATEST = 10**18


def read(places: Iterable[Path]) -> list[Document]:
    """The results in files, and in all .json files below directories; each file once.

    Raises ResultError, with the file and what is wrong: also where two files are the same
    run, give other answers where all have to give the same, or give two machines one name.
    """
    seen: dict[tuple[object, ...], Path] = {}
    told: dict[Asked, str] = {}
    processors: dict[str, tuple[str, Path]] = {}
    documents = []
    for path in _files(places):
        document = read_result(path)
        _check_numbers(document, f"{path}: $")
        _check_cases(document["cases"], f"{path}: $")
        first = seen.setdefault(_key(document), path)
        if first is not path:
            raise ResultError(f"{path} is the same run as {first}; remove one of the two")
        problem = differing(document, told)
        if problem is not None:
            raise ResultError(f"{path}: {problem}")
        told.update(answers_of(document))
        _check_machine(document, path, processors)
        documents.append(document)
    return sorted(documents, key=order_of)


def _files(places: Iterable[Path]) -> list[Path]:
    paths = [path for place in places for path in files_at(place)]
    return list({path.resolve(): path for path in paths}.values())


def _check_numbers(value: object, where: str) -> None:
    """JSON as Python reads it has infinities too, and integers without an end."""
    if isinstance(value, dict):
        for key, each in value.items():
            _check_numbers(each, f"{where}.{key}")
    elif isinstance(value, list):
        for place, each in enumerate(value):
            _check_numbers(each, f"{where}[{place}]")
    elif isinstance(value, int | float) and not 0 <= value <= GREATEST:
        raise ResultError(f"{where}: {str(value)[:40]} can't have been measured")


def _check_cases(cases: Sequence[Mapping[str, Any]], where: str) -> None:
    seen = set()
    for place, case in enumerate(cases):
        key = (case["workload"], *sorted(case["parameters"].items()))
        if key in seen:
            raise ResultError(f"{where}.cases[{place}]: this case was there already")
        seen.add(key)


def _key(document: Document) -> tuple[object, ...]:
    """What no two runs have in common."""
    data = tuple(sorted(document["data"].items()))
    conditions = (document.get("durability"), document.get("flush_coins"))
    machine, profile, name = (document[of]["name"] for of in ("machine", "profile", "contestant"))
    of = (document["kind"], document["matrix"]["id"], name, document["run"])
    return machine, profile, *data, *conditions, *of


def _check_machine(document: Document, path: Path, processors: dict[str, tuple[str, Path]]) -> None:
    name, processor = document["machine"]["name"], str(document["machine"]["cpu_model_name"])
    first, where = processors.setdefault(name, (processor, path))
    if processor != first:
        problem = f"machine {name} is another one than in {where}: {processor}, not {first}"
        raise ResultError(f"{path}: {problem}; give it another name")

"""Reads results for a report: valid ones, each once, that can stand beside each other."""

from collections.abc import Iterable
from pathlib import Path

from cdb.bench.results import Document, ResultError, files_at, read_result

GREATEST = 10**18


def read(places: Iterable[Path]) -> list[Document]:
    """The runs in files, and in all .json files below directories; each file once.

    Raises ResultError, with the file and what is wrong: also where two files are the same run, or
    give two machines one name.
    """
    seen: dict[tuple[object, ...], Path] = {}
    processors: dict[str, tuple[str, Path]] = {}
    documents = []
    for path in _files(places):
        document = read_result(path)
        _check_numbers(document, f"{path}: $")
        _check_cases(document, path)
        _check_run(document, path, seen)
        _check_machine(document, path, processors)
        documents.append(document)
    return sorted(documents, key=lambda each: (each["begun"], each["schema"]["name"], each["run"]))


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


def _check_cases(document: Document, path: Path) -> None:
    seen = set()
    for place, case in enumerate(document["cases"]):
        key = (case["workload"], *sorted(case["parameters"].items()))
        if key in seen:
            raise ResultError(f"{path}: $.cases[{place}]: this case was there already")
        seen.add(key)


def _check_run(document: Document, path: Path, seen: dict[tuple[object, ...], Path]) -> None:
    key = (
        document["machine"]["name"],
        document["matrix"]["id"],
        document["profile"]["name"],
        document["replay"]["digest"],
        document["replay"]["source"],
        document["durability"],
        document["flush_coins"],
        document["schema"]["name"],
        document["run"],
    )
    if key in seen:
        raise ResultError(f"{path} is the same run as {seen[key]}; remove one of the two")
    seen[key] = path


def _check_machine(document: Document, path: Path, processors: dict[str, tuple[str, Path]]) -> None:
    name, processor = document["machine"]["name"], str(document["machine"]["cpu_model_name"])
    first, where = processors.setdefault(name, (processor, path))
    if processor != first:
        problem = f"machine {name} is another one than in {where}: {processor}, not {first}"
        raise ResultError(f"{path}: {problem}; give it another name")

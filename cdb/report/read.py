"""Reads results for a report: valid ones, each once, that can stand beside each other."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from cdb.bench.node_rounds import STORES, differing_answers
from cdb.bench.results import (
    Document,
    ResultError,
    files_at,
    is_comparison,
    is_of_engines,
    is_run,
    read_result,
)

GREATEST = 10**18


def read(places: Iterable[Path]) -> list[Document]:
    """The results in files, and in all .json files below directories; each file once.

    Raises ResultError, with the file and what is wrong: also where two files are the same run or
    comparison, or give two machines one name.
    """
    seen: dict[tuple[object, ...], Path] = {}
    processors: dict[str, tuple[str, Path]] = {}
    documents = []
    for path in _files(places):
        document = read_result(path)
        _check_numbers(document, f"{path}: $")
        if is_run(document):
            _check_cases(document["cases"], f"{path}: $")
        else:
            _check_rounds(document, path)
        _check_seen(document, path, seen)
        _check_machine(document, path, processors)
        documents.append(document)
    return sorted(documents, key=_place)


def _place(document: Document) -> tuple[str, str, int]:
    if is_run(document):
        return document["begun"], document["schema"]["name"], document["run"]
    return document["begun"], "", 0


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


def _check_rounds(document: Document, path: Path) -> None:
    """All who are compared must have all rounds, and stores the same answers in each."""
    rounds, runs = document["rounds"], document["runs"]
    for place, each in enumerate(rounds):
        _check_cases(each["cases"], f"{path}: $.rounds[{place}]")
    who: Sequence[object]
    if is_of_engines(document):
        named = [(each["layout"], each["engine"]) for each in rounds]
        who, what = sorted(set(named)), "layout and engine"
    else:
        named = [each["store"] for each in rounds]
        who, what = STORES, "store"
    found = sorted(zip(named, (each["run"] for each in rounds), strict=True))
    # Counted first: who says 10**18 runs is not believed.
    if len(found) != len(who) * runs or found != sorted(product(who, range(1, runs + 1))):
        raise ResultError(f"{path}: $.rounds: not {runs} of each {what}, numbered from 1")
    problem = differing_answers(rounds) if is_comparison(document) else None
    if problem is not None:
        raise ResultError(f"{path}: {problem}")


def _check_seen(document: Document, path: Path, seen: dict[tuple[object, ...], Path]) -> None:
    if is_run(document):
        what, key = "run", _run_key(document)
    else:
        what, key = "comparison", _comparison_key(document)
    if key in seen:
        raise ResultError(f"{path} is the same {what} as {seen[key]}; remove one of the two")
    seen[key] = path


def _comparison_key(document: Document) -> tuple[object, ...]:
    names = (document["machine"]["name"], document["profile"]["name"])
    of = document["chain"]["coins"] if is_comparison(document) else document["shape"]["name"]
    return *names, document["begun"], of


def _run_key(document: Document) -> tuple[object, ...]:
    return (
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


def _check_machine(document: Document, path: Path, processors: dict[str, tuple[str, Path]]) -> None:
    name, processor = document["machine"]["name"], str(document["machine"]["cpu_model_name"])
    first, where = processors.setdefault(name, (processor, path))
    if processor != first:
        problem = f"machine {name} is another one than in {where}: {processor}, not {first}"
        raise ResultError(f"{path}: {problem}; give it another name")

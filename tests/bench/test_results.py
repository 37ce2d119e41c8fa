"""Results: what is written can be read, nothing is written twice, and damage is one clear line."""

import json
import os
from pathlib import Path

import pytest

from cdb.bench.results import (
    ResultError,
    files_at,
    place_of,
    read_result,
    read_results,
    write_result,
)
from tests.bench.results import document


def test_what_is_written_is_read(tmp_path: Path) -> None:
    first = document()
    second = document(begun="2026-11-21T19:04:00Z", run=2)
    paths = [write_result(tmp_path, each) for each in (first, second)]
    assert [path.name for path in paths] == [
        "20261121T190509Z-memory-FAST-1000-1.json",
        "20261121T190400Z-memory-FAST-1000-2.json",
    ]
    assert {path.parent for path in paths} == {tmp_path / "some-cpu"}
    assert read_results([tmp_path]) == [second, first]
    assert read_results(paths[:1]) == [first]
    assert sorted(tmp_path.rglob("*")) == sorted([tmp_path / "some-cpu", *paths])


def test_a_result_is_never_written_again(tmp_path: Path) -> None:
    path = write_result(tmp_path, document())
    before = path.read_bytes()
    with pytest.raises(ResultError, match=r"is there already"):
        write_result(tmp_path, document(seconds=9.0))
    assert path.read_bytes() == before


def test_a_result_of_any_names_stays_in_its_folder(tmp_path: Path) -> None:
    contestant = {"name": "../my.schema:A", "description": "", "keeps_contract": True}
    path = write_result(tmp_path, document(contestant=contestant))
    assert path == tmp_path / "some-cpu" / "20261121T190509Z-..-my.schema-A-FAST-1000-1.json"
    machine = {"name": "../../my.machine", "cpu_model_name": None}
    profile = {**document()["profile"], "name": "../../FAST"}
    path = write_result(tmp_path, document(machine=machine, profile=profile))
    assert path.parent == tmp_path / "-.-..-my.machine"
    assert path.name.endswith("-..-..-FAST-1000-1.json")
    for name in ("..", ".", ""):
        assert place_of(document(machine=machine | {"name": name})).parent.name.startswith("-")
    long = {"name": 500 * "x", "description": "", "keeps_contract": True}
    assert write_result(tmp_path, document(contestant=long)).exists()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"version": 1}, "a result of format 1, and this cdb reads format 2 only: measure again"),
        ({"version": "2"}, r"\$\.version: 2 was expected"),
        ({"kind": "nodes"}, r"\$\.kind: 'nodes' is not one of"),
        ({"cases": []}, r"\$\.cases: "),
        ({"begun": "yesterday"}, r"\$\.begun: 'yesterday' does not match"),
        ({"durability": "a bit"}, r"\$\.durability: 'a bit' is not one of"),
        ({"extra": 1}, r"\$: .*'extra' was unexpected"),
    ],
)
def test_what_is_no_result_is_refused(
    tmp_path: Path, changes: dict[str, object], problem: str
) -> None:
    with pytest.raises(ResultError, match=problem):
        write_result(tmp_path, document(**changes))
    assert list(tmp_path.iterdir()) == []
    path = tmp_path / "result.json"
    path.write_text(json.dumps(document(**changes)))
    with pytest.raises(ResultError, match=f"{path}: {problem}"):
        read_result(path)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\xff"])
def test_what_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ResultError, match=f"{path} is no JSON: "):
        read_results([tmp_path])


def test_a_file_that_is_nested_as_deep_as_can_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    for depth in range(900, 1000, 4):
        path.write_text(depth * "[" + depth * "]")
        with pytest.raises(ResultError, match=f"{path}"):
            read_result(path)


def test_what_is_too_long_for_a_result_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    path = write_result(tmp_path, document())
    os.mkfifo(tmp_path / "pipe.json")
    assert files_at(tmp_path) == [path]
    os.truncate(path, 2**40)  # sparse
    with pytest.raises(ResultError, match=r"json has more than 67,108,864 bytes"):
        read_result(path)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"missing\.json: No such file"):
        read_results([tmp_path / "missing.json"])


def test_a_figure_that_is_no_number_is_refused(tmp_path: Path) -> None:
    case = document()["cases"][0] | {"figures": {"wall_seconds": float("nan")}}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_result(tmp_path, document(cases=[case]))

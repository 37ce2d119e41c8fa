"""A campaign: what it makes of an experiment, what it goes on with, and who answers otherwise."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cdb.bench import campaign as campaigns
from cdb.bench.campaign import Campaign, Data, Experiment, Note
from cdb.bench.case import Case
from cdb.bench.matrix import Matrix
from cdb.bench.results import Document, Kind, read_results
from cdb.lab.places import Place
from cdb.lab.process import NotMeasuredError
from cdb.lab.profile import FAST, SLOW, Profile

ANSWERS = "ab" * 32


@dataclass
class Stores:
    """A node's stores, who answer as they are told, in turns."""

    answers: list[str] = field(default_factory=list)
    told: list[tuple[str, int]] = field(default_factory=list)

    def experiment(self) -> Experiment:
        data = {"source": "a chain", "coins": 9, "synchronous": "NORMAL"}
        return Experiment(
            kind=Kind.NODE,
            contestants={"chia": {}, "cdb": {}},
            sources={"a chain": lambda directory, note: Data({"data": data}, 0, self.run)},
            settings={},
            software={"chia_version": "2"},
        )

    def run(
        self, contestant: str, there: Place, before: Sequence[Document], note: Note
    ) -> list[Case]:
        self.told.append((contestant, len(before)))
        note("calls")
        answers = self.answers.pop(0) if self.answers else ANSWERS
        return [
            Case("load", figures={"wall_seconds": 1.23456789012}),
            Case("get_coin_record", {"names": 1}, answers=answers, figures={"calls": 7}),
        ]


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No disk is measured, and one profile can't be had."""

    @contextmanager
    def place(profile: Profile, parent: Path, size_bytes: int) -> Iterator[Place]:
        if profile is SLOW:
            raise NotMeasuredError("there is no root here")
        yield Place(parent, (), None)

    @dataclass
    class Facts:
        name: str = "box"
        cpu_model_name: str = "A CPU"
        mount_point: str = "/home/me"

    monkeypatch.setattr(campaigns, "place", place)
    monkeypatch.setattr(campaigns, "machine_facts", lambda directory: Facts())


def campaign(stores: Stores, directory: Path, **others: Any) -> Campaign:
    """Two rounds on this machine."""
    told: dict[str, Any] = {
        "experiment": stores.experiment(),
        "matrix": Matrix.new("a command", 2, {}),
        "profiles": [FAST],
        "parent": directory,
        "results": directory / "results",
        "machine": None,
        "note": lambda line: None,
    }
    return Campaign(**told | others)


def test_a_run_is_a_result_as_soon_as_it_is_made(tmp_path: Path) -> None:
    stores, notes = Stores(), list[str]()
    made = campaign(stores, tmp_path, note=notes.append).run()
    first = next(made)
    assert read_results([tmp_path / "results"]) == [first]
    assert stores.told == [("chia", 0)]
    assert first["machine"] == {"name": "box", "cpu_model_name": "A CPU"}
    assert first["software"]["chia_version"] == "2"
    assert first["cases"][0]["figures"] == {"wall_seconds": 1.2345679}
    others = [*made]
    assert stores.told == [("chia", 0), ("cdb", 1), ("cdb", 2), ("chia", 3)]
    assert len(read_results([tmp_path / "results"])) == 4
    assert [(each["contestant"]["name"], each["run"]) for each in others] == [
        ("cdb", 1),
        ("cdb", 2),
        ("chia", 2),
    ]
    assert notes[0] == "run 1 of 4: FAST, round 1, chia: calls"
    assert notes[1].startswith("run 2 of 4, 1 s left: FAST, round 1, cdb")


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    stores = Stores()
    begun = campaign(stores, tmp_path)
    next(begun.run())
    resumed = Matrix.new("a command", 2, {}).resumed(read_results([tmp_path / "results"]))
    again = campaign(stores, tmp_path, matrix=resumed)
    assert again.made() == 1
    assert len([*again.run()]) == 3
    assert stores.told[1:] == [("cdb", 1), ("cdb", 2), ("chia", 3)]
    assert {each["matrix"]["id"] for each in read_results([tmp_path])} == {begun.matrix.id}


def test_who_answers_otherwise_than_a_run_before_is_wrong(tmp_path: Path) -> None:
    stores = Stores(answers=[ANSWERS, "cd" * 32, ANSWERS, "ef" * 32])
    outcomes = []
    for each in campaign(stores, tmp_path).run():
        load, asked = each["cases"]
        assert load["outcome"] == "measured"
        outcomes.append((each["contestant"]["name"], asked["outcome"]))
        if asked["outcome"] == "wrong":
            assert asked["reason"].startswith('get_coin_record {"names": 1}: the answers of ')
            assert (asked["figures"], asked["answers"]) == ({}, None)
    assert outcomes == [
        ("chia", "measured"),
        ("cdb", "wrong"),
        ("cdb", "measured"),
        ("chia", "wrong"),
    ]


def test_a_profile_that_cannot_be_had_is_left_out(tmp_path: Path) -> None:
    notes = list[str]()
    both = campaign(Stores(), tmp_path, profiles=[SLOW, FAST], note=notes.append)
    assert {each["profile"]["name"] for each in both.run()} == {"FAST"}
    assert notes[0] == "profile SLOW is left out: there is no root here"
    assert both.made() == 4

"""What a schema's module says of its engine is what the tests, faults and soaks go by."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cdb.contract.durability import Durability
from cdb.contract.limits import Finding, Limit
from cdb.errors import CorruptDatabaseError, SchemaError, UnsupportedError
from cdb.schemas import find_schema, open_schema
from cdb.schemas.registry import OWN_SCHEMAS, names_at_paths
from cdb.testing.base import SchemaTests
from cdb.testing.faults import CATALOGUE, BrokenPromiseError, all_subjects, missing, scratch
from cdb.testing.faults.damage_trial import rot
from cdb.testing.faults.known import KNOWN
from cdb.testing.faults.oracle import finding_of
from cdb.testing.faults.subjects import shown, subject_of
from cdb.testing.faults.suite import FaultTests

needs_shim = pytest.mark.skipif(missing() is not None, reason=str(missing()))

UNSUMMED = "from tests.broken.files import NoChecksum as SCHEMA\n"
SAYS_SO = """
from cdb.building import Limit, SchemaSpec
LIMIT = Limit("flip", ("unseen",), "it has no checksums")
SCHEMA = SchemaSpec(SCHEMA, limits=(LIMIT,))
"""
MAPS_ITS_LOCK = """
import mmap
from tests.broken.files import Good

class SCHEMA(Good):
    def __init__(self, path):
        super().__init__(path)
        with open(self._home / "mapped", "w+b") as file:
            file.truncate(100)
            with mmap.mmap(file.fileno(), 100) as mapped:
                mapped[:4] = b"here"
"""
Made = Callable[[str, str], str]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Makes a module that other processes find, too."""
    here = tmp_path / "modules"
    here.mkdir()
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("PYTHONPATH", str(here), prepend=":")

    def make(name: str, source: str) -> str:
        (here / f"{name}.py").write_text(source)
        return name

    return make


def test_a_limit_is_shown_by_its_kind_of_trial_and_all_that_it_says_of_a_finding() -> None:
    limits = [
        Limit("power-*", ("fails",), "one", error="Corrupt*"),
        Limit("*", ("served", "unseen"), "two", file="db/*.log", change="whole*"),
        Limit("*", ("died",), "three", signal=6),
    ]
    for trial, finding, which in (
        ("power-ext4", Finding("fails", error="CorruptDatabaseError"), 0),
        ("kill", Finding("fails", error="CorruptDatabaseError"), None),
        ("power-ext4", Finding("fails", error="StorageError"), None),
        ("power-ext4", Finding("noticed", error="CorruptDatabaseError"), None),
        ("flip", Finding("unseen", "db/1.log", "whole-of-step-2"), 1),
        ("flip", Finding("unseen", "db/1.sst", "whole-of-step-2"), None),
        ("flip", Finding("unseen", "db/1.log", "bit-3"), None),
        ("flip", Finding("died", signal=6), 2),
        ("flip", Finding("died", signal=11), None),
        ("flip", Finding(), None),
    ):
        shows = shown(limits, trial, finding)
        assert shows is (None if which is None else limits[which]), finding


def test_a_limit_of_one_level_is_none_at_another() -> None:
    subjects = all_subjects()
    assert {*subjects["coin_log"].limits} < {*subjects["coin_log-process"].limits}
    levels = {each.durability for each in subjects["coin_log-process"].limits}
    assert levels == {None, Durability.PROCESS}


def test_below_power_memory_may_lose_its_file_to_a_power_cut_but_to_no_kill() -> None:
    subject = all_subjects()["memory-process"]
    finding = Finding("fails", "db", error="WrongDatabaseError")
    assert subject.limit("power-ext4", finding) is not None
    assert subject.limit("kill", finding) is None
    assert all_subjects()["memory"].limit("power-ext4", finding) is None


@pytest.mark.skipif(find_schema("rocks_kv").missing is not None, reason="rocks_kv is missing")
def test_a_damaged_manifest_of_rocksdb_is_named_and_a_known_limit(tmp_path: Path) -> None:
    path = tmp_path / "db"
    open_schema("rocks_kv", path).close()
    [manifest] = path.glob("db/MANIFEST-*")
    manifest.write_bytes(bytes([manifest.read_bytes()[0] ^ 1]) + manifest.read_bytes()[1:])
    with pytest.raises(CorruptDatabaseError, match="MANIFEST-") as caught:
        open_schema("rocks_kv", path)
    assert caught.value.path == str(manifest)
    finding = finding_of("fails", caught.value, path)
    limit = subject_of("rocks_kv").limit("power-unordered", finding)
    assert "a gap" in ("" if limit is None else limit.reason)


def test_a_limit_by_a_name_that_the_trials_do_not_know_is_an_error(module: Made) -> None:
    source = UNSUMMED + SAYS_SO.replace("(LIMIT,)", '("rocksdb",)')
    with pytest.raises(SchemaError, match=r"'rocksdb', and the trials know .*'RocksDB'"):
        subject_of(module("misnamed", source))


@pytest.mark.parametrize("name", names_at_paths(OWN_SCHEMAS))
def test_what_is_tried_of_our_own_is_what_their_modules_say(name: str) -> None:
    found = find_schema(name)
    if found.spec.keeps_contract:
        subject = all_subjects()[name]
        assert subject.checksummed == found.spec.checksummed
        assert subject.not_durable == found.spec.not_durable
        said = [[each] if isinstance(each, Limit) else KNOWN[each] for each in found.spec.limits]
        assert {*subject.limits} <= {limit for limits in said for limit in limits}


def test_known_limits_of_anybodys_are_counted_and_of_others_break_a_promise(
    module: Made, tmp_path: Path
) -> None:
    silent, said = module("unsummed", UNSUMMED), module("says_so", UNSUMMED + SAYS_SO)
    for place in (silent, said):
        (tmp_path / place).mkdir()
    with pytest.raises(BrokenPromiseError, match="damage is served"):
        rot(silent, 1, tmp_path / silent, way="flip")
    coverage = rot(said, 1, tmp_path / said, way="flip")
    assert coverage.found["unseen"]
    assert subject_of(said).limits[0].reason == "it has no checksums"


@needs_shim
def test_a_known_limit_is_an_expected_failure(
    module: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flip(spec: str) -> None:
        suite = type("Suite", (FaultTests,), {"schema": spec})()
        suite._try("flip", 1, None, lambda coverage: None)

    said = module("says_so_too", UNSUMMED + SAYS_SO)
    monkeypatch.setattr(
        "cdb.testing.faults.damage_trial.subject_of", lambda spec: subject_of("memory")
    )
    with pytest.raises(pytest.xfail.Exception, match="it has no checksums"):
        flip(said)
    with pytest.raises(BrokenPromiseError):
        flip(module("unsummed_too", UNSUMMED))


@needs_shim
def test_only_what_is_said_to_count_for_nothing_may_be_written_unseen(module: Made) -> None:
    silent = module("maps", MAPS_ITS_LOCK)
    saying = 'SCHEMA = SchemaSpec(SCHEMA, not_durable=("db/mapped",))\n'
    said = module(
        "maps_and_says_so", f"{MAPS_ITS_LOCK}\nfrom cdb.building import SchemaSpec\n{saying}"
    )
    with scratch() as directory, pytest.raises(UnsupportedError, match=r"\['db/mapped'\]"):
        CATALOGUE["power-strict"].trial(silent, 1, directory, most=5, only=None)
    with scratch() as directory:
        coverage = CATALOGUE["power-strict"].trial(said, 1, directory, most=5, only=None)
    assert coverage.points


def test_masses_are_as_many_as_the_module_says(module: Made) -> None:
    def most(spec: str, many: int) -> int:
        suite: SchemaTests = type("Suite", (SchemaTests,), {"schema": spec})()
        return suite.at_most(many)

    any_number = module("any_number", "from cdb.schemas.memory import MemorySchema as SCHEMA\n")
    assert most(any_number, 100_000) == 100_000
    few = (
        "from cdb.building import SchemaSpec\nfrom cdb.schemas.memory import MemorySchema as Mine\n"
        "SCHEMA = SchemaSpec(Mine, many=70, small=Mine)\n"
    )
    assert most(module("few", few), 100_000) == 70
    assert most(module("few_more", few.replace("70", "7_000")), 100_000) == 7_000
    assert most("few_more:SMALL", 100_000) == 5_000
    assert most("few_more:SMALL", 100) == 100

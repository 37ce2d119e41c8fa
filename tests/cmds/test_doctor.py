"""doctor: what is installed, what is missing, and what the disk can do."""

import json
import re
import resource
import signal
import sqlite3
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from cdb.cmds import doctor as command
from cdb.cmds.doctor import _schemas as missing_and_libraries
from cdb.extensions.native import native_scanner
from cdb.lab import traits as lab
from cdb.schemas import find_schema, schema_names
from tests.conftest import Commands, contents


def said(run_command: Commands, *arguments: str) -> dict[str, object]:
    """What it prints as JSON, whatever it makes of it."""
    found: dict[str, object] = json.loads(run_command("doctor", "--json", *arguments).out)
    return found


def test_it_tells_what_is_missing_as_the_schemas_do(run_command: Commands) -> None:
    missing = said(run_command)["missing"]
    assert isinstance(missing, dict)
    expected = {name: find_schema(name).missing for name in schema_names()}
    assert {name: missing.get(name) for name in expected} == expected


def test_the_libraries_have_versions(run_command: Commands) -> None:
    libraries = said(run_command)["libraries"]
    assert isinstance(libraries, dict)
    for name in schema_names():
        schema = find_schema(name)
        if schema.missing is None and schema.spec.versions is not None:
            for told in schema.spec.versions():
                library, _, version = told.rpartition(" ")
                assert libraries[library][0] == version
    assert {origin for _, origin in libraries.values()} <= {"bundled", "the system's"}


def test_the_openssl_of_the_system_is_named_where_none_is_bundled(run_command: Commands) -> None:
    if native_scanner.missing() is not None:
        pytest.skip("there is no scanner")
    libraries = said(run_command)["libraries"]
    assert isinstance(libraries, dict)
    if "OpenSSL" not in libraries:
        assert any(origin == "bundled" for _, origin in libraries.values())
    else:
        version, origin = libraries["OpenSSL"]
        assert re.fullmatch(r"\d+\.\d+\.\w+", version)
        assert origin == "the system's"


@pytest.mark.parametrize("is_here", [False, True])
def test_it_names_chia_which_only_a_node_needs(
    run_command: Commands, tmp_path: Path, is_here: bool
) -> None:
    if is_here:
        (tmp_path / "chia").mkdir()
        metadata = tmp_path / "chia_blockchain-9.8.7.dist-info" / "METADATA"
        metadata.parent.mkdir()
        metadata.write_text("Metadata-Version: 2.1\nName: chia-blockchain\nVersion: 9.8.7\n")
        line = "chia-blockchain 9.8.7 is installed"
    elif find_spec("chia") is None:
        line = "chia-blockchain is not installed beside cdb; pip install 'coinset-db[chia]'"
    else:
        pytest.skip("chia is installed")
    doctor = [sys.executable, "-m", "cdb.cmds.doctor"]
    shown, _ = run_command.popen(doctor).communicate(timeout=60)
    assert f"\nto run a node on cdb: {line}\n" in shown.decode()
    found, _ = run_command.popen([*doctor, "--json"]).communicate(timeout=60)
    assert json.loads(found)["chia-blockchain"] == ("9.8.7" if is_here else None)


def test_what_the_bill_names_is_bundled(tmp_path: Path) -> None:
    bill = tmp_path / "bundled.cdx.json"
    parts = [{"name": "SQLite", "version": "0"}, {"name": "Xyz", "version": "1.2"}]
    bill.write_text(json.dumps({"components": parts}))
    _, libraries = missing_and_libraries(bill)
    assert libraries["Xyz"] == ("1.2", "bundled")
    # The version of what runs is asked of it.
    assert libraries["SQLite"] == (sqlite3.sqlite_version, "bundled")
    _, libraries = missing_and_libraries(tmp_path / "none")
    assert libraries["SQLite"] == (sqlite3.sqlite_version, "the system's")


def test_the_directory_is_tried_and_left_as_it_was(run_command: Commands, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    directory = said(run_command, str(tmp_path))["directory"]
    assert isinstance(directory, dict)
    assert directory["path"] == str(tmp_path)
    assert directory["maps_files"]
    assert directory["locks_files"]
    assert directory["fdatasync_microseconds"] > 0
    assert contents(tmp_path) == {"file": b"mine"}


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("_file_system", lambda directory: "tmpfs", "tmpfs is memory"),
        ("_maps", lambda path: False, "can't be mapped"),
        ("_locks", lambda path: False, "can't be locked"),
        ("_LEAST_FILES", 1 << 70, "raise 'ulimit -n'"),
    ],
)
def test_a_problem_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object, says: str
) -> None:
    monkeypatch.setattr(lab, "_file_system", lambda directory: "ext2/ext3")
    monkeypatch.setattr(lab, "_LEAST_SYNC_MICROSECONDS", 0)
    assert lab.traits(tmp_path).problems == ()
    monkeypatch.setattr(lab, name, value)
    (problem,) = lab.traits(tmp_path).problems
    assert says in problem


def test_a_sync_that_no_disk_can_do_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "_file_system", lambda directory: "ext2/ext3")
    monkeypatch.setattr(lab, "_LEAST_SYNC_MICROSECONDS", 1e12)
    (problem,) = lab.traits(tmp_path).problems
    assert "power loss may take what was flushed" in problem


@pytest.mark.parametrize(
    ("name", "code", "line"),
    [
        ("cassandra", 0, "installed where asked: cassandra; cdb schemas says how"),
        ("option_1@redb", 0, "All schemas are ready."),
        ("rocks", 1, "missing: rocks: it lacks something"),
        ("the scanner", 1, "missing: the scanner: it lacks something"),
    ],
)
def test_what_is_installed_only_where_asked_is_not_missing(
    monkeypatch: pytest.MonkeyPatch, name: str, code: int, line: str
) -> None:
    monkeypatch.setattr(command, "_schemas", lambda bill: ({name: "it lacks something"}, {}))
    fine = lab.Traits("ext4", 10**9, 100.0, True, True, 1_024, problems=())
    monkeypatch.setattr(command, "traits", lambda directory: fine)
    result = CliRunner().invoke(command.doctor, [])
    assert (result.exit_code, line in result.output.splitlines()) == (code, True)


def test_a_problem_is_the_exit_code(run_command: Commands) -> None:
    few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (100, 100))
    result = run_command("doctor", preexec_fn=few)
    assert result.code == 1
    assert "problem: only 100 files may be open at once" in result.out.decode()


@pytest.mark.parametrize(
    ("directory", "problem"),
    [
        ("/dev/null", "this is no directory; name one"),
        ("/proc", "no file can be written there: .*; name another directory"),
    ],
)
def test_where_nothing_can_be_written_is_told(
    run_command: Commands, directory: str, problem: str
) -> None:
    assert re.fullmatch(f"{directory}: {problem}", run_command("doctor", directory).error())


WAITS = """
import signal
from cdb.cmds.doctor import doctor
from cdb.cmds.runner import run
from cdb.lab import traits

def wait(path):
    print("waiting", flush=True)
    signal.pause()

traits._maps = wait
run(doctor)
"""


def test_sigterm_leaves_nothing_behind(tmp_path: Path) -> None:
    line = [sys.executable, "-c", WAITS, str(tmp_path)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waiting\n"
        assert len(contents(tmp_path)) == 2, "a file in a directory"
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
        assert b"Traceback" not in process.communicate()[1]
    assert contents(tmp_path) == {}

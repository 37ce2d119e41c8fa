"""Which machine and software: facts where there are any, None where not, never the host's name."""

import json
import platform
import sqlite3
import subprocess
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from subprocess import PIPE

import psutil
import pytest

import cdb
from cdb.bench import machine
from cdb.bench.machine import (
    load_average,
    machine_facts,
    machine_name,
    others_cpu_seconds,
    slug,
)
from cdb.bench.software import software_versions
from cdb.errors import CdbError
from cdb.lab import disk_speed


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_speed, "AT_LEAST_SECONDS", 0.01)


def test_facts(tmp_path: Path) -> None:
    facts = machine_facts(tmp_path)
    assert facts.cpu_count == psutil.cpu_count()
    assert facts.memory_bytes == psutil.virtual_memory().total
    assert facts.architecture == platform.machine()
    assert facts.write_bytes_per_second > 0
    assert 0 < facts.fdatasync_p50_microseconds <= facts.fdatasync_p99_microseconds
    assert facts.mount_point is not None
    assert tmp_path.is_relative_to(facts.mount_point)
    assert facts.file_system
    flat = json.loads(json.dumps(asdict(facts)))
    assert all(value is None or isinstance(value, str | int | float) for value in flat.values())
    assert platform.node() not in flat.values()
    assert not list(tmp_path.iterdir())


def test_without_any_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    facts = machine_facts(str(tmp_path))
    assert facts.cpu_model_name is None
    assert facts.disk_model is None
    assert facts.disk_rotational is None
    assert facts.name.startswith(platform.machine().replace("_", "-"))


def test_the_disk_of_a_partition(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As lsblk --inverse has it: the disk is below the partition."""
    disk = {"name": "nvme0n1", "model": "Fine SSD", "rota": False}
    partition = {"name": "nvme0n1p2", "model": None, "rota": False, "children": [disk]}
    cpu = {"field": "Vendor ID:", "data": "X", "children": [{"field": "Model name:", "data": "X9"}]}
    said = {"lsblk": {"blockdevices": [partition]}, "lscpu": {"lscpu": [cpu]}}
    monkeypatch.setattr(machine, "output_of", lambda *command: json.dumps(said[command[0]]))
    facts = machine_facts(tmp_path)
    assert (facts.disk_model, facts.disk_rotational) == ("Fine SSD", False)
    assert facts.cpu_model_name == "X9"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("AMD EPYC", "amd-epyc-2-cores-24-gb"),
        ("Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz", "intel-core-i7-8700k-2-cores-24-gb"),
        ("AMD Ryzen 9 7950X 16-Core Processor", "amd-ryzen-9-7950x-2-cores-24-gb"),
        ("Apple M2 Pro", "apple-m2-pro-2-cores-24-gb"),
        ("../..", "2-cores-24-gb"),
    ],
)
def test_names(model: str, name: str) -> None:
    assert slug(model, 2, 25_276_502_016) == name


def test_the_name_stays() -> None:
    assert machine_name() == machine_name()


def test_without_psutil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(CdbError, match="psutil is missing; install it"):
        machine_facts(tmp_path)


def test_load_average() -> None:
    load = load_average()
    assert load is None or load >= 0


def test_cpu_time_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "cpu_times", partial(lambda told: told, psutil.cpu_times()))
    # The kernel cuts user and system time to hundredths, so a little more than is asked for below.
    program = "import time\nwhile time.process_time() < 0.55: pass"

    def taken_off(*before: str) -> float:
        start = others_cpu_seconds()
        subprocess.run([*before, sys.executable, "-c", program], check=True, stdout=PIPE)
        end = others_cpu_seconds()
        assert start is not None
        assert end is not None
        return start - end

    assert taken_off() >= 0.5
    # Of one whose parent has ended it is not known whose it is.
    assert taken_off("sh", "-c", '"$@" &', "sh") < 0.25


def test_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "cdb" / "__init__.py"
    package.parent.mkdir()
    package.write_text("")
    monkeypatch.setattr(cdb, "__file__", str(package))
    versions = software_versions()
    assert versions["python_version"] == platform.python_version()
    assert versions["sqlite_version"] == sqlite3.sqlite_version
    assert (versions["git_commit"], versions["git_dirty"]) == (None, None)

    def git(*arguments: str) -> str:
        name = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        line = ["git", "-C", str(tmp_path), *name, *arguments]
        return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()

    git("init")
    git("add", "cdb")
    git("commit", "--message", "all")
    (tmp_path / "notes").write_text("not of the program")
    assert software_versions()["git_commit"] == git("rev-parse", "HEAD")
    assert software_versions()["git_dirty"] is False
    package.write_text("changed = True\n")
    assert software_versions()["git_dirty"] is True

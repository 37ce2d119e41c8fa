"""A cluster's files and processes, without Java: what is said where something is missing."""

import os
import signal
import socket
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from cdb.cluster import artifact
from cdb.cluster.configuration import CQL_PORT, SYNCS
from cdb.cluster.dev_cluster import DevCluster
from cdb.cluster.node import Node
from cdb.errors import (
    DatabaseLockedError,
    DatabaseNotFoundError,
    MissingEngineError,
    StorageError,
    WrongDatabaseError,
)
from cdb.stores.cassandra.cql import missing
from tests.conftest import Commands


@pytest.fixture
def made(tmp_path: Path) -> DevCluster:
    cluster = DevCluster(tmp_path / "cluster")
    cluster.make(3)
    return cluster


def program(tmp_path: Path, name: str, text: str) -> None:
    """A script that a shell runs."""
    path = tmp_path / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_without_java_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingEngineError, match=r"needs Java.*install Java 17 \(Debian: openjdk"):
        artifact.java()
    program(tmp_path, "java", """echo 'openjdk version "11.0.2"' >&2""")
    with pytest.raises(
        MissingEngineError, match=r"runs on Java 17, and .*java is version 11; inst"
    ):
        artifact.java()
    program(tmp_path, "java", """echo 'openjdk version "17.0.15"' >&2""")
    assert artifact.java() == str(tmp_path / "java")


def test_without_maven_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingEngineError, match=r"there is no mvn; install it \(Debian: maven\)"):
        artifact.jars()
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program(tmp_path, "mvn", "echo '[ERROR] no route to anywhere'; exit 1")
    with pytest.raises(StorageError, match=r"Maven fetches no Cassandra .*no route to anywhere"):
        artifact.jars()
    assert [*(tmp_path / "cache/cdb").iterdir()] == []
    program(tmp_path, "mvn", "exit 0")
    assert artifact.jars().is_dir()


def test_each_node_has_its_place_in_the_ring_and_its_own_files(made: DevCluster) -> None:
    told = [node.directory.joinpath("cassandra.yaml").read_text() for node in made.nodes]
    tokens = sorted(int(text.partition("initial_token: '")[2].partition("'")[0]) for text in told)
    steps = {b - a for a, b in pairwise(tokens)}
    assert len(tokens) == 3
    assert max(steps) - min(steps) <= 1
    assert all(-(2**63) < token < 2**63 for token in tokens)
    for node, text in zip(made.nodes, told, strict=True):
        assert f"listen_address: 127.0.0.{node.number}" in text
        assert f"{node.directory}/data" in text
        assert "commitlog_sync: group" in text


def test_another_number_of_nodes_is_refused(made: DevCluster) -> None:
    made.make(3, SYNCS[1])
    with pytest.raises(WrongDatabaseError, match="has 3 nodes, not 1; 'cdb cluster wipe' it first"):
        made.make(1)


def test_a_node_that_there_is_not(made: DevCluster) -> None:
    with pytest.raises(DatabaseNotFoundError, match="there is no node 4"):
        made.node(4)


def test_wipe_removes_its_own_files_alone(made: DevCluster) -> None:
    mine = made.directory / "mine"
    mine.write_text("notes")
    made.wipe()
    assert [*made.directory.iterdir()] == [mine]
    assert made.nodes == []


def test_a_process_is_told_from_others_of_its_number(made: DevCluster) -> None:
    node = made.node(1)
    assert node.pid is None
    (node.directory / "pid").write_text(f"{os.getpid()} 1\n")
    assert node.pid is None
    sleeper = "import sys, time; print('up', flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", sleeper], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    began = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]
    (node.directory / "pid").write_text(f"{child.pid} {began}\n")
    assert node.pid == child.pid
    assert (node.memory_bytes or 0) > 1 << 20
    with pytest.raises(DatabaseLockedError, match="its nodes live; 'cdb cluster stop' first"):
        made.wipe()
    node.stop(kill=True)
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()
    assert node.pid is None


def test_an_address_that_somebody_else_has(
    made: DevCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cdb.cluster.dev_cluster.java", lambda: "java")
    monkeypatch.setattr("cdb.cluster.dev_cluster.jars", lambda: made.directory)
    monkeypatch.setattr("cdb.cluster.dev_cluster.FREE_SECONDS", 0)
    with socket.socket() as other:
        try:
            other.bind(("127.0.0.3", CQL_PORT))
        except OSError:
            pytest.skip("a cluster is up on this machine")
        other.listen()
        monkeypatch.setattr(Node, "start", lambda *arguments: None)
        with pytest.raises(StorageError, match=f"somebody else has 127.0.0.3:{CQL_PORT}"):
            made.start(lambda what: None, numbers=[3])


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_the_commands_say_where_there_is_no_cluster(run_command: Commands) -> None:
    assert "'cdb cluster start' makes one" in run_command("cluster_status", "--dir", "no").error()
    assert "there is no node 2" in run_command("cluster_kill", "2", "--dir", "no").error()
    assert run_command("cluster_stop", "--dir", "no").fine().out == b"no node was up\n"
    run_command("cluster_wipe", "--dir", "no").fine()


@pytest.mark.skipif(missing() is None, reason="the driver is there")
def test_the_commands_say_what_to_install(run_command: Commands) -> None:
    for command in ("cluster_start", "cluster_status"):
        assert "pip install 'coinset_db[cassandra]'" in run_command(command).error()

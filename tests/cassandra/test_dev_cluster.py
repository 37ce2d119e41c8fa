"""A cluster's files and processes, without Java: what is said where something is missing."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from threading import Thread

import pytest

from cdb.cluster import artifact
from cdb.cluster.configuration import CQL_PORT, SYNCS, java_options
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


def test_a_directory_may_have_any_name(tmp_path: Path) -> None:
    cluster = DevCluster(tmp_path / "o'd & #1")
    cluster.make(1)
    directory = cluster.node(1).directory
    quoted = str(directory).replace("'", "''")
    yaml = (directory / "cassandra.yaml").read_text()
    assert f"commitlog_directory: '{quoted}/commitlog'" in yaml
    assert "o'd &amp; #1/node1/system.log</file>" in (directory / "logback.xml").read_text()
    (tmp_path / "jamm-1.jar").touch()
    options = java_options(directory, 1, tmp_path)
    assert f"-Dcassandra.config={directory.as_uri()}/cassandra.yaml" in options


def test_another_number_of_nodes_is_refused(made: DevCluster) -> None:
    made.make(3, SYNCS[1])
    with pytest.raises(WrongDatabaseError, match="has 3 nodes, not 1; 'cdb cluster wipe' it first"):
        made.make(1)


def test_what_it_was_made_with_stays(
    made: DevCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.make(3, "periodic")
    made.make(3)
    yaml = made.node(2).directory / "cassandra.yaml"
    assert "commitlog_sync: periodic" in yaml.read_text()
    monkeypatch.setattr("cdb.cluster.dev_cluster.offer_tls", lambda *arguments: "tls: true\n")
    made.make(3, tls=True)
    made.make(3, "batch")
    assert "tls: true" in yaml.read_text()
    assert "commitlog_sync: batch" in yaml.read_text()
    monkeypatch.setattr(Node, "pid", 1)
    made.make(3)
    with pytest.raises(DatabaseLockedError, match="its nodes live, and go on as they are"):
        made.make(3, "group")
    assert "commitlog_sync: batch" in yaml.read_text()


def test_a_node_that_there_is_not(made: DevCluster) -> None:
    with pytest.raises(DatabaseNotFoundError, match="there is no node 4"):
        made.node(4)


def test_wipe_removes_its_own_files_alone(made: DevCluster) -> None:
    mine = made.directory / "mine"
    mine.write_text("notes")
    made.wipe()
    assert [*made.directory.iterdir()] == [mine]
    assert made.nodes == []
    other = made.directory / "tls.pem"
    other.write_text("of somebody else")
    made.wipe()
    assert other.exists()


def test_a_wipe_that_was_cut_short_is_gone_on_with(made: DevCluster) -> None:
    shutil.rmtree(made.node(1).directory)
    made.wipe()
    assert [*made.directory.iterdir()] == []


def test_a_directory_of_somebody_elses_is_no_nodes(tmp_path: Path) -> None:
    mine = tmp_path / "node2" / "notes"
    mine.parent.mkdir()
    mine.write_text("mine")
    cluster = DevCluster(tmp_path)
    with pytest.raises(WrongDatabaseError, match=r"node2: this is no cluster's; name another"):
        cluster.make(3)
    cluster.wipe()
    assert [*tmp_path.rglob("*")] == [mine.parent, mine]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"nodes": "3"}', '{"nodes": 10}'])
def test_a_file_that_is_no_clusters(made: DevCluster, text: str) -> None:
    (made.directory / "cluster.json").write_text(text)
    with pytest.raises(WrongDatabaseError, match="this is no cluster's file"):
        made.status()


def test_a_node_that_does_not_end_keeps_no_other_one_up(
    made: DevCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def stop(node: Node, *, kill: bool) -> None:
        asked.append(node.number)
        if node.number == 1:
            raise StorageError(node.directory, "it does not end")

    monkeypatch.setattr(Node, "pid", 1)
    monkeypatch.setattr(Node, "stop", stop)
    with pytest.raises(StorageError, match="it does not end"):
        made.stop()
    assert asked == [1, 2, 3]


def test_a_process_is_told_from_others_of_its_number(made: DevCluster) -> None:
    node = made.node(1)
    assert node.pid is None
    for text in (f"{os.getpid()} 1\n", "cut short", ""):
        (node.directory / "pid").write_text(text)
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


def test_of_two_starts_at_once_one_waits(made: DevCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdb.cluster.dev_cluster.java", lambda: "java")
    monkeypatch.setattr("cdb.cluster.dev_cluster.jars", lambda: made.directory)
    monkeypatch.setattr("cdb.cluster.dev_cluster._check_free", lambda node: None)
    monkeypatch.setattr(DevCluster, "wait_until_ready", lambda *arguments: None)
    inside, most = 0, 0

    def start(node: Node, *arguments: object) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.05)
        inside -= 1

    monkeypatch.setattr(Node, "start", start)
    others = [Thread(target=made.start, args=[print]) for _ in range(3)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert most == 1


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
        begun: list[Node] = []
        monkeypatch.setattr(Node, "start", lambda node, *arguments: begun.append(node))
        with pytest.raises(StorageError, match=f"somebody else has 127.0.0.3:{CQL_PORT}"):
            made.start(lambda what: None)
        assert begun == []


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

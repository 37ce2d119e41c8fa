"""The nodes of a cluster on this machine, and what is done with them."""

import fcntl
import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdb.cluster.artifact import CASSANDRA, jars, java
from cdb.cluster.configuration import CQL_PORT, SYNCS, address_of, offer_tls, write_files
from cdb.cluster.node import Node
from cdb.cluster.readiness import schema_known_by
from cdb.errors import (
    DatabaseLockedError,
    DatabaseNotFoundError,
    StorageError,
    WrongDatabaseError,
    storage_errors,
)

MOST_NODES = 9
START_SECONDS = 300.0
FREE_SECONDS = 10.0
_LOOK_SECONDS = 0.5
Told = Callable[[str], object]
"""Is told how far it is, in a few words."""


def default_directory() -> Path:
    """Where a user's cluster is: there is one, as it has all of these addresses."""
    data = os.environ.get("XDG_DATA_HOME")
    return Path(data) / "cdb/cluster" if data else Path.home() / ".local/share/cdb/cluster"


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """state: "ready", "up" (its process lives), or "stopped"."""

    number: int
    address: str
    state: str
    pid: int | None
    memory_bytes: int | None
    log: Path


class DevCluster:
    """A cluster in a directory. Raises StorageError, MissingEngineError or a DatabaseError."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self._file = self.directory / "cluster.json"

    @property
    def nodes(self) -> list[Node]:
        """Those that it was made of; none where there is no cluster."""
        n_nodes = self._made().get("nodes", 0)
        return [Node(number, self._place(number)) for number in range(1, n_nodes + 1)]

    def _made(self) -> dict[str, Any]:
        """What it was made of; nothing where there is no cluster."""
        try:
            made: dict[str, Any] = json.loads(self._file.read_text())
            made = {"sync": SYNCS[0], "tls": False, **made}
            if made["nodes"] not in range(1, MOST_NODES + 1) or made["sync"] not in SYNCS:
                raise ValueError
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, OSError) as error:
            problem = "this is no cluster's file; remove it, or name another --dir"
            raise WrongDatabaseError(self._file, problem) from error
        return made

    def node(self, number: int) -> Node:
        """One of them. Raises DatabaseNotFoundError."""
        found = next((node for node in self.nodes if node.number == number), None)
        if found is None:
            raise DatabaseNotFoundError(self.directory, f"there is no node {number}")
        return found

    def make(self, n_nodes: int, sync: str | None = None, *, tls: bool = False) -> None:
        """Lay out its files, unless they are there; of another number of nodes it is an error.

        sync: the nodes' commitlog_sync; None: as it was, or the first of SYNCS. tls: they offer it,
        too, with the certificate tls.pem, and go on to.
        """
        was = self._made()
        there = was.get("nodes", 0)
        if there not in (0, n_nodes):
            problem = f"this cluster has {there} nodes, not {n_nodes}; 'cdb cluster wipe' it first"
            raise WrongDatabaseError(self.directory, problem)
        sync, tls = sync or was.get("sync", SYNCS[0]), tls or was.get("tls", False)
        made = {"nodes": n_nodes, "cassandra": CASSANDRA, "sync": sync, "tls": tls}
        if was and was != made and self._lives:
            problem = "its nodes live, and go on as they are; 'cdb cluster stop' first"
            raise DatabaseLockedError(self.directory, problem)
        places = [self._place(number) for number in range(1, n_nodes + 1)]
        if not was and (taken := next((each for each in places if each.exists()), None)):
            raise WrongDatabaseError(taken, "this is no cluster's; name another --dir")
        with storage_errors(self.directory):
            # First of all: what it does not name is not removed by wipe().
            self.directory.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(made))
            more = offer_tls(self.directory, n_nodes) if tls else ""
            for number, place in enumerate(places, 1):
                write_files(place, number, n_nodes, sync, more)

    def start(self, told: Told, *, numbers: Sequence[int] = ()) -> float:
        """Start all nodes, or some, and wait until all that live are ready. Gives the seconds."""
        begun = time.monotonic()
        program = java()
        told("fetching Cassandra's jars")
        classes = jars()
        chosen = [node for node in self.nodes if not numbers or node.number in numbers]
        with self._alone():
            for node in chosen:
                if node.pid is None:
                    _check_free(node)
            for node in chosen:
                node.start(program, classes)
        self.wait_until_ready(told)
        return time.monotonic() - begun

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait until nobody else starts its nodes: of two processes of a node only one is known."""
        with storage_errors(self.directory):
            descriptor = os.open(self.directory, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def wait_until_ready(self, told: Told, seconds: float = START_SECONDS) -> None:
        """Wait until each node that lives knows all of them, and the same tables."""
        deadline = time.monotonic() + seconds
        nodes = self.nodes
        living = [node for node in nodes if node.pid is not None]
        known: dict[int, str | None] = {}
        while not living or len({*known.values()}) != 1 or None in known.values():
            for node in living:
                if node.pid is None:
                    words = node.last_words() or "it says nothing"
                    raise StorageError(node.log, f"node {node.number} has ended: {words[:300]}")
            known = {node.number: schema_known_by(node.address, len(nodes)) for node in living}
            ready = sum(version is not None for version in known.values())
            told(f"{ready} of {len(living)} nodes ready")
            if time.monotonic() > deadline:
                raise StorageError(self.directory, f"after {seconds:.0f} s {ready} nodes are ready")
            if ready < len(living):
                time.sleep(_LOOK_SECONDS)

    def stop(self, *, kill: bool = False) -> int:
        """End all nodes; how many there were. One that does not end keeps no other one up."""
        living = [node for node in self.nodes if node.pid is not None]
        with ExitStack() as stack:
            for node in reversed(living):
                stack.callback(node.stop, kill=kill)
        return len(living)

    def status(self) -> list[NodeStatus]:
        """How the nodes are."""
        nodes = self.nodes
        return [_status(node, len(nodes)) for node in nodes]

    def wipe(self) -> None:
        """Remove all of its files. Raises DatabaseLockedError while a node lives."""
        nodes = self.nodes
        if not nodes:
            return
        if self._lives:
            raise DatabaseLockedError(self.directory, "its nodes live; 'cdb cluster stop' first")
        with storage_errors(self.directory):
            for node in nodes:
                if node.directory.exists():  # else a wipe before this one was cut short
                    shutil.rmtree(node.directory)
            for file in ("tls.p12", "tls.pem", "cluster.json"):
                (self.directory / file).unlink(missing_ok=True)

    @property
    def _lives(self) -> bool:
        return any(node.pid is not None for node in self.nodes)

    def _place(self, number: int) -> Path:
        return self.directory / f"node{number}"


def _status(node: Node, n_nodes: int) -> NodeStatus:
    pid = node.pid
    state = "stopped"
    if pid is not None:
        state = "ready" if schema_known_by(node.address, n_nodes) else "up"
    return NodeStatus(node.number, node.address, state, pid, node.memory_bytes, node.log)


def _check_free(node: Node) -> None:
    """Raise StorageError where somebody else has a node's address. A process that was just killed
    has it for a moment."""
    deadline = time.monotonic() + FREE_SECONDS
    while True:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address_of(node.number), CQL_PORT))
                return
            except OSError as error:
                if time.monotonic() > deadline:
                    place = f"{node.address}:{CQL_PORT}"
                    problem = f"somebody else has {place}: another cluster ('cdb cluster stop')?"
                    raise StorageError(node.directory, problem) from error
        time.sleep(_LOOK_SECONDS)

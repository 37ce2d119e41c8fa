"""A node's process: started, found again by later commands, and ended."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from cdb.cluster.configuration import address_of, java_options
from cdb.errors import StorageError, storage_errors

_MAIN = "org.apache.cassandra.service.CassandraDaemon"
_STOP_SECONDS = 60.0
_LOOK_SECONDS = 0.1


class Node:
    """One of 127.0.0.1, 127.0.0.2, …; directory: all its files.

    Its process is told from others of the same number by when it started.
    """

    def __init__(self, number: int, directory: Path) -> None:
        self.number = number
        self.directory = directory
        self.address = address_of(number)
        self.log = directory / "system.log"
        self._pid_file = directory / "pid"

    @property
    def pid(self) -> int | None:
        """Its process; None where none lives."""
        try:
            text, began = self._pid_file.read_text().split()
            pid = int(text)
        except (FileNotFoundError, ValueError):
            return None
        return pid if _beginning(pid) == began else None

    @property
    def memory_bytes(self) -> int | None:
        """What it has in memory."""
        with suppress(OSError, IndexError, ValueError):
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE")
        return None

    def start(self, java: str, jars: Path, environment: Mapping[str, str] | None = None) -> None:
        """Start it, unless it lives. environment: what else it gets beside that of this process."""
        if self.pid is not None:
            return
        with storage_errors(self.directory), (self.directory / "output.log").open("ab") as output:
            command = [java, *java_options(self.directory, self.number, jars), _MAIN]
            process = subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.directory,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
            )
            self._pid_file.write_text(f"{process.pid} {_beginning(process.pid)}\n")
        _children[process.pid] = process

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it lives."""
        pid = self.pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self, *, kill: bool = False) -> None:
        """End it, and wait until it has; by kill -9, or else orderly: then what it has in memory is
        on disk. Raises StorageError where it does not end."""
        pid = self.pid
        if pid is None:
            return
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL if kill else signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        while self.pid is not None:
            if time.monotonic() > deadline:
                raise StorageError(
                    self.directory, f"node {self.number}, process {pid}, does not end"
                )
            time.sleep(_LOOK_SECONDS)
        if pid in _children:
            _children.pop(pid).wait()

    def last_words(self) -> str:
        """The last error in its logs; "" without one."""
        for file in (self.log, self.directory / "output.log"):
            with suppress(OSError):
                lines = file.read_text("utf-8", "replace").splitlines()
                for line in reversed(lines[-400:]):
                    if line.startswith("ERROR") or "Exception" in line[:200]:
                        return line
        return ""


_children: dict[int, "subprocess.Popen[bytes]"] = {}
"""Those of this process: the system keeps one that has ended until it is asked for."""


def _beginning(pid: int) -> str:
    """When a process started, in the system's ticks; "" where there is none."""
    with suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    return ""

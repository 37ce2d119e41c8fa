"""Workloads for tests of how they are run."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from cdb.errors import CdbError
from cdb.lab.process import NotMeasuredError, WrongAnswerError, fresh
from cdb.process.meter import peak_rss_bytes


@dataclass(frozen=True)
class Figures:
    """Some figures."""

    pid: int
    text: str
    groups: str = ""


def answer(text: str, *, loud: bool = False) -> Figures:
    """Give it back."""
    if loud:
        print("this is no answer")  # noqa: T201
    return Figures(os.getpid(), text)


def fail(kind: str) -> Figures:
    """End in one of several ways."""
    if kind == "wrong":
        raise WrongAnswerError("a coin is missing")
    if kind == "error":
        raise CdbError("block 7 is bad")
    if kind == "bug":
        raise KeyError("spends")
    if kind == "not measured":
        raise NotMeasuredError("no such disk")
    if kind in ("exit", "no answer"):
        os._exit(3 if kind == "exit" else 0)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def groups() -> Figures:
    """Say which control groups this process is in."""
    return Figures(os.getpid(), "", Path("/proc/self/cgroup").read_text("ascii"))


def take_memory(n_bytes: int) -> Figures:
    """Use so much memory."""
    return Figures(os.getpid(), str(len(bytes(b"x" * n_bytes))))


def peak() -> Figures:
    """Say how much memory this process has had."""
    return Figures(os.getpid(), str(peak_rss_bytes()))


def sleep(path: str) -> Figures:
    """Write down who it is and whose, and sleep."""
    Path(path).write_text(f"{os.getpid()} {os.getppid()}", "ascii")
    time.sleep(600)
    raise AssertionError


def start_sleeper(path: str) -> Figures:
    """Sleep in a process of its own."""
    return fresh(sleep, path)

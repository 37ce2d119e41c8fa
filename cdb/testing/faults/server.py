"""The process behind Trials, with the shim preloaded.

For each request on standard input it forks a child that runs one script: a trial costs no start of
an interpreter.

    python -m cdb.testing.faults.server SCHEMA
"""

import json
import os
import select
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from cdb.schemas import find_schema
from cdb.schemas.registry import SchemaInfo
from cdb.testing.faults.doing import run
from cdb.testing.faults.script import script_of
from cdb.testing.faults.shim import Calls, Shim
from cdb.testing.faults.steps import Script
from cdb.testing.faults.trial import (
    DATABASE,
    LONGEST_SECONDS,
    Outcome,
    Request,
    telling_errors,
)

_READ_BYTES = 65_536


def _serve(spec: str) -> None:
    info = find_schema(spec)
    shim = Shim()
    for line in sys.stdin:
        outcome = _fork(info, shim, Request(**json.loads(line)))
        sys.stdout.write(json.dumps(asdict(outcome)) + "\n")
        sys.stdout.flush()


def _fork(info: SchemaInfo, shim: Shim, request: Request) -> Outcome:
    script = script_of(request.seed)  # drawn once, for all children
    ours, childs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ours)
            # What a schema prints is no answer to a request.
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
            _run(info, shim, script, request, childs)
        finally:
            os._exit(0)
    os.close(childs)
    said = _read_to_end(ours, child)
    _, status = os.waitpid(child, 0)
    told: dict[str, str] = {}
    for line in said.splitlines():
        word, _, what = line.partition(" ")
        told[word] = what
    return Outcome(
        kept=int(told.get("kept", 0)),
        begun=int(told.get("begun", 0)),
        calls=int(told.get("calls", 0)),
        error=told.get("failed", told.get("raised")),
        is_ours="failed" in told,
        signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
    )


def _read_to_end(pipe: int, child: int) -> str:
    """All that the child says; one that hangs is killed, by SIGALRM so that it can be told."""
    parts: list[bytes] = []
    while True:
        if not select.select([pipe], [], [], LONGEST_SECONDS)[0]:
            os.kill(child, signal.SIGALRM)
        part = os.read(pipe, _READ_BYTES)
        if not part:
            os.close(pipe)
            return b"".join(parts).decode()
        parts.append(part)


def _run(info: SchemaInfo, shim: Shim, script: Script, request: Request, pipe: int) -> None:
    def tell(word: str, what: object) -> None:
        os.write(pipe, f"{word} {what}\n".encode())

    root = Path(request.root)
    shim.watch(root)
    if request.trace is not None:
        shim.record(os.open(request.trace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), pipe)
    shim.arm(Calls(request.calls), request.first, request.last, request.action)
    with telling_errors(tell):
        run(script, request.done, lambda: info.open(root / DATABASE), tell)
    tell("calls", shim.calls())


if __name__ == "__main__":
    _serve(sys.argv[1])

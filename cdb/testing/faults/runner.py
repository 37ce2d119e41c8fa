"""The process behind Runs: it forks a child for each request on standard input.

So a run costs no start of an interpreter. Children say on standard output how they get on.

    python -m cdb.testing.faults.runner SCHEMA
"""

import json
import os
import resource
import signal
import sys
from pathlib import Path

from cdb.schemas import find_schema
from cdb.schemas.registry import SchemaInfo
from cdb.testing.faults.doing import run
from cdb.testing.faults.live import Request
from cdb.testing.faults.script import script_of
from cdb.testing.faults.steps import Script
from cdb.testing.faults.trial import DATABASE, scratch, telling_errors


def _serve(spec: str) -> None:
    info = find_schema(spec)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with its standard input
    # What a schema prints says nothing about a run.
    pipe = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        request = Request(**json.loads(line))
        script = script_of(request.seed, request.length)
        child = os.fork()
        if child == 0:
            try:
                _run(info, script, request, pipe)
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        _tell(pipe, "ended", os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)


def _run(info: SchemaInfo, script: Script, request: Request, pipe: int) -> None:
    _tell(pipe, "process", os.getpid())
    path = Path(request.path)
    with telling_errors(lambda *said: _tell(pipe, *said)):
        for group in request.groups:
            Path(group).write_text(str(os.getpid()), "ascii")
        if request.is_limited:
            _use_once(info)
        _limit(resource.RLIMIT_FSIZE, request.file_bytes)
        if request.open_files is not None:
            _limit(resource.RLIMIT_NOFILE, _first_free_descriptor() + request.open_files)
        run(script, request.first, lambda: info.open(path), lambda *said: _tell(pipe, *said))


def _use_once(info: SchemaInfo) -> None:
    """Import whatever a schema imports when it is used first: the limits are for its files."""
    with scratch() as directory:
        info.open(directory / DATABASE).close()


def _limit(what: int, limit: int | None) -> None:
    if limit is not None:
        resource.setrlimit(what, (limit, limit))


def _first_free_descriptor() -> int:
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor


def _tell(pipe: int, word: str, what: object) -> None:
    os.write(pipe, f"{word} {what}\n".encode())


if __name__ == "__main__":
    _serve(sys.argv[1])

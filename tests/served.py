"""Commands without a start of Python for each: a server that has imported them forks.

python -m tests.served SOCKET                 # the server; it ends with its standard input
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import cdb.cmds

_PART_BYTES = 1 << 16
_STREAMS = (0, 1, 2)


def ask(
    server: Path, line: list[str], directory: Path, input: bytes, *, timeout_seconds: float
) -> tuple[int, bytes, bytes]:
    """Have a command run to its end: its exit code, or minus its signal, and what it printed."""
    job = {"line": line, "directory": str(directory), "environment": dict(os.environ)}
    printed = [os.memfd_create("stdout"), os.memfd_create("stderr")]
    reads, writes = os.pipe()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout_seconds)
        connection.connect(str(server))
        socket.send_fds(connection, [b"\n"], [reads, *printed])
        os.close(reads)
        connection.sendall(json.dumps(job).encode())
        connection.shutdown(socket.SHUT_WR)
        with suppress(BrokenPipeError), os.fdopen(writes, "wb") as stream:
            stream.write(input)
        code = int(connection.recv(_PART_BYTES))
    out, err = (_all_of(descriptor) for descriptor in printed)
    return code, out, err


def _all_of(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as stream:
        stream.seek(0)
        return stream.read()


def _serve(path: str) -> list[str]:
    """Serve until standard input ends. Returns in a child that is to run the command it gives."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children leave nothing to be waited for
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"{path}.made")
    server.listen()
    Path(f"{path}.made").rename(path)  # whoever sees it can connect
    while 0 not in select.select([server.fileno(), 0], [], [])[0]:
        connection, _ = server.accept()
        if os.fork() == 0:
            server.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return _stand_for(connection)
        connection.close()
    os.killpg(0, signal.SIGKILL)  # with whatever hangs
    raise AssertionError("a killed process goes on")


def _stand_for(connection: socket.socket) -> list[str]:
    """Tell how a command ends that a child runs; returns in that child."""
    _, streams, _, _ = socket.recv_fds(connection, 1, len(_STREAMS))
    job: dict[str, Any] = json.loads(b"".join(iter(lambda: connection.recv(_PART_BYTES), b"")))
    child = os.fork()
    if child:
        for stream in (*streams, *_STREAMS):
            os.close(stream)
        _, status = os.waitpid(child, 0)
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    connection.close()
    for number, stream in zip(_STREAMS, streams, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(job["directory"])
    os.environ.clear()
    os.environ.update(job["environment"])
    line: list[str] = job["line"]
    return line


def _import_commands() -> None:
    """What commands import, but not themselves: they are to run as ``__main__``."""
    for module in pkgutil.iter_modules(cdb.cmds.__path__, "cdb.cmds."):
        importlib.import_module(module.name)


def _run(line: list[str]) -> None:
    """Run a command as ``python -m cdb.cmds.NAME`` does."""
    sys.path.insert(0, os.getcwd())  # noqa: PTH109
    name, *sys.argv[1:] = line
    sys.modules.pop(f"cdb.cmds.{name}")
    try:
        runpy.run_module(f"cdb.cmds.{name}", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if not isinstance(ended.code, int):
            raise
        _end(ended.code)


def _end(code: int) -> None:
    """End as Python does, but leave its objects to the system: to take the modules of all commands
    apart costs more than most commands. Those with a Python of their own do it."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _import_commands()
    gc.freeze()  # else each child that collects goes through all of it
    _run(_serve(sys.argv[1]))

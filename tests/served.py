"""Commands without a start of Python for each: a server that has imported them forks.

A client, which is this file too, stands for a command: it takes no import, hands its arguments,
environment, directory and standard streams to the server, and ends as the command does there.

    python -m tests.served SOCKET                 # the server; it ends with its standard input
    python -I -S served.py SOCKET COMMAND ...     # a client
"""

import json
import os
import select
import signal
import socket
import sys
from typing import Any

_PART_BYTES = 1 << 16
_STREAMS = (0, 1, 2)


def _ask(path: str, line: list[str]) -> int:
    """Have a command run; its exit code."""
    directory = os.getcwd()  # noqa: PTH109 - pathlib's import takes longer than all of this
    job = {"line": line, "directory": directory, "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [b"\n"], _STREAMS)
        connection.sendall(json.dumps(job).encode())
        connection.shutdown(socket.SHUT_WR)
        code = int(connection.recv(_PART_BYTES))
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _serve(path: str) -> list[str]:
    """Serve until standard input ends. Returns in a child that is to run the command it gives."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children leave nothing to be waited for
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
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
    import importlib
    import pkgutil

    import cdb.cmds

    for module in pkgutil.iter_modules(cdb.cmds.__path__, "cdb.cmds."):
        importlib.import_module(module.name)


def _run(line: list[str]) -> None:
    """Run a command as ``python -m cdb.cmds.NAME`` does."""
    import runpy

    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as above
    name, *sys.argv[1:] = line
    sys.modules.pop(f"cdb.cmds.{name}")
    runpy.run_module(f"cdb.cmds.{name}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(_ask(sys.argv[1], sys.argv[2:]))
    _import_commands()
    _run(_serve(sys.argv[1]))

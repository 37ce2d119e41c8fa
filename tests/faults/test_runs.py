"""Runs of scripts: heard of as they go, ended, and refused where the schema is not here."""

import signal
import sys
from pathlib import Path

import pytest

from cdb.errors import UnsupportedError
from cdb.testing.faults.runs import Request, Run
from cdb.testing.faults.shim import Calls, missing
from cdb.testing.faults.trial import DATABASE

preloads = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@preloads
def test_a_run_is_heard_of_and_its_calls_are_counted(tmp_path: Path) -> None:
    request = Request("coin_log:SMALL", 1, tmp_path / DATABASE, calls=Calls.SYNC)
    whole = Run(request).listen_to_end()
    assert (whole.error, whole.signal) == (None, 0)
    assert whole.calls > 0
    assert whole.progress.kept == whole.progress.begun > 0


def test_a_run_that_is_left_is_killed(tmp_path: Path) -> None:
    with Run(Request("memory", 1, tmp_path / DATABASE, length=50)) as run:
        run.listen_until(1)
    assert run.has_ended
    assert run.signal == signal.SIGKILL


def test_a_schema_that_is_not_here_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "absent.py").write_text(ABSENT)
    sys.path.insert(0, str(tmp_path))
    try:
        with pytest.raises(UnsupportedError, match="no such engine"):
            Run(Request("absent", 1, tmp_path / DATABASE))
    finally:
        sys.path.remove(str(tmp_path))


ABSENT = """
from cdb.schemas import SchemaSpec
from cdb.schemas.memory import MemorySchema

SCHEMA = SchemaSpec(MemorySchema, missing=lambda: "no such engine")
"""

"""Whether make test notices a mutant: by types, then by the tests nearest to it, and then by all.

All tests take minutes, and most of what passed the nearest ones passes them, too. So they are run
once with many mutants, and what fails is run again with halves of them, down to single ones.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from tests.engines import OTHERS, SCHEMAS
from tests.mutants.draw import Mutant
from tests.mutants.results import Verdict
from tests.mutants.working_copy import BuildError, WorkingCopy

_TESTS = Path(__file__).parents[1]
_LIMIT_SECONDS = 2400.0
"""Of one run of tests. A test that hangs is ended long before, with its process: a signal does not
reach one that is in native code."""
_PASSED, _NO_TESTS = 0, 5
_PYTEST = (
    *("-m", "pytest", "-q", "-rfE", "--tb=line", "-p", "no:cacheprovider", "-m", "not long"),
    *("-p", "tests.first_failure", "--no-header", "-o", "timeout_method=thread"),
)
_SPREAD = ("-n", str(2 * (os.cpu_count() or 1)), "--dist", "loadscope", "--no-loadscope-reorder")
_failed = re.compile(r"(?:FAILED|ERROR) (tests/.*?)(?: - .*)?$").match
_crashed = re.compile(r".*worker '.*' crashed while running '(.*)'").match

OWN_ROOMS = tuple(f"native/{name}/" for name in OTHERS)
_LOG = (
    "test_conformance.py::Test_coin_log_small test_conformance.py::TestCoinLogIndexedSmall"
    " test_conformance.py::Test_coin_log_small_history"
    " schemas/test_coin_log.py schemas/test_coin_log_keys.py"
)
_SET = "coin_set test_conformance.py::TestRocksKvIndexedSmall " + " ".join(
    f"test_conformance.py::Test_{name}_small schemas/test_{name}.py" for name in SCHEMAS
)
_ROWS = "rows test_packed.py test_conformance.py::Test_sqlite_v3_small"
_CONTRACT = "test_memory.py test_conformance.py::Test_coin_log_small"
NEAREST = {
    ("native/coin_log/", "cdb/stores/coin_log/"): _LOG,
    ("native/coin_set/", "native/engines/", "cdb/stores/coin_set/", *OWN_ROOMS): _SET,
    ("native/layouts/",): f"test_layouts.py {_SET}",
    ("native/versioned/",): "bench",
    (
        *("native/rocksdb/", "native/name_index/", "native/ordered_kv/", "native/cow_btree/"),
        "native/cdb_ordered_kv.h",
    ): f"rows/test_rocks_index.py {_SET}",
    ("native/objects/",): "test_objects.py test_packed_state.py",
    ("native/common/", "native/rules/"): f"{_LOG} {_SET}",
    ("native/scan/",): "test_scanner.py test_packed_state.py",
    ("native/preload/", "cdb/testing/faults/"): "faults",
    ("cdb/stores/rows/",): _ROWS,
    ("cdb/front/", "cdb/testing/", "cdb/stores/memory.py"): _CONTRACT,
}
"""Tests of what lies in these rooms, in tests/. Those that import a module of Python come first; of
one that none imports, those of its room."""


class ControlError(Exception):
    """A test that notices a mutant fails without it, too, so it tells nothing."""


def nearest(file: str) -> list[str]:
    """The tests that most likely notice a mutant in this file, for pytest."""
    found = []
    if file.endswith(".py"):
        module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        package, _, name = module.rpartition(".")
        imports = re.compile(
            rf"^(?:from {module} import|import {module}\b|from {package} import .*\b{name}\b)", re.M
        ).search
        found = [path for path in sorted(_TESTS.rglob("test_*.py")) if imports(path.read_text())]
        room = _TESTS / file.split("/")[1]
        found = found or [room] * room.is_dir()
    rooms = (tests for rooms, tests in NEAREST.items() if file.startswith(rooms))
    return [*map(str, found), *(str(_TESTS / test) for tests in rooms for test in tests.split())]


def judge(mutant: Mutant, copy: WorkingCopy) -> Verdict:
    """Try a mutant in a copy, which is without it afterwards, with the nearest tests: what these
    don't notice is in doubt. Raises ControlError."""
    since = monotonic()
    with copy.with_faults([mutant]):
        outcome, by, tests = _try(mutant, copy)
    copy.build()
    if tests:
        _check_without(tests, copy)
    elif outcome == "noticed" and (error := _error_of_types(copy)):
        raise ControlError(f"without a fault types are wrong: {error}")
    return Verdict(outcome, by, round(monotonic() - since, 1))


def judge_together(
    mutants: Sequence[Mutant], copy: WorkingCopy
) -> Iterator[tuple[Mutant, Verdict]]:
    """Try mutants that are in doubt, no two of one line, with all tests. What fails with several of
    them and with none alone (or fails now and then) notices none. Raises ControlError."""
    failed = _failed_of_all(mutants, copy)
    since = monotonic()
    for mutant, by in _told_apart(mutants, failed, copy):
        outcome = "noticed" if by else "survived"
        yield mutant, Verdict(outcome, by, round(monotonic() - since, 1))
        since = monotonic()


def _told_apart(
    mutants: Sequence[Mutant], failed: Sequence[str], copy: WorkingCopy
) -> Iterator[tuple[Mutant, str]]:
    """Each, with a test that fails with it alone or "", of tests that fail with all of them: by
    halves, each with what failed of the whole, so that a test is run with few others."""
    if not failed or len(mutants) == 1:
        yield from ((each, next(iter(failed), "")) for each in mutants)
        return
    middle = len(mutants) // 2
    for half in (mutants[:middle], mutants[middle:]):
        yield from _told_apart(half, _failed_of_these(half, failed, copy), copy)


def _failed_of_these(
    mutants: Sequence[Mutant], tests: Sequence[str], copy: WorkingCopy
) -> Sequence[str]:
    """Which of these tests fail with these mutants: all of them where pytest can't say."""
    code, lines = _run_with(mutants, tests, copy)
    return [] if code == _PASSED else _failures(lines) or tests


def _failed_of_all(mutants: Sequence[Mutant], copy: WorkingCopy) -> list[str]:
    """Which tests fail with all these mutants, and pass without them."""
    code, lines = _run_with(mutants, ["tests"], copy)
    failed = _failures(lines)
    if code == _PASSED:
        return []
    if code is None or not failed:
        raise ControlError("\n".join([f"all tests, with {len(mutants)} mutants:", *lines[-40:]]))
    code, lines = _run(copy, *_SPREAD, *failed)
    without = {*_failures(lines)}
    if code != _PASSED and not without:
        raise ControlError("\n".join(lines[-40:]))
    return [test for test in failed if test not in without]


def _run_with(
    mutants: Sequence[Mutant], tests: Sequence[str], copy: WorkingCopy
) -> tuple[int | None, list[str]]:
    """Pytest, with all these mutants in a copy, which is without them afterwards."""
    with copy.with_faults(mutants):
        copy.build()
        ended = _run(copy, *_SPREAD, *tests)
    copy.build()
    return ended


def _run(copy: WorkingCopy, *arguments: str) -> tuple[int | None, list[str]]:
    """Pytest, in a place of its own: a mutant may fill it, or leave what can't be deleted."""
    with TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as place:
        there = (f"--basetemp={place}/tests", *arguments)
        return copy.run_python(*_PYTEST, *there, limit_seconds=_LIMIT_SECONDS)


def _try(mutant: Mutant, copy: WorkingCopy) -> tuple[str, str, list[str]]:
    """The outcome, by what, and what pytest has to pass without the mutant."""
    try:
        is_another = _build(mutant, copy)
    except BuildError:
        return "none", "it is not built", []
    if not is_another:
        return "none", "it is built to the same", []
    if mutant.file.endswith(".py") and (error := _error_of_types(copy)):
        return "noticed", f"types: {error}", []
    paths = _nearest(mutant)
    if not paths:
        return "in doubt", "", []
    code, lines = _run(copy, "-x", *_SPREAD, *paths)
    if code in (_PASSED, _NO_TESTS):
        return "in doubt", "", []
    if failed := what_failed(lines):
        return "noticed", failed, [failed]
    late = f"tests take more than {_LIMIT_SECONDS:.0f} s"
    said = late if code is None else "\n".join(lines[-5:])
    return "noticed", said, ["--collect-only", *paths]


def _error_of_types(copy: WorkingCopy) -> str:
    """The first error of make types, or ""."""
    code, lines = copy.run_python("-m", "mypy")
    error = next((line for line in lines if ": error: " in line), "")
    if code != 0 and not error:
        raise ControlError("\n".join(["mypy:", *lines[-5:]]))
    return error


def _nearest(mutant: Mutant) -> list[str]:
    return [os.path.relpath(test, _TESTS.parent) for test in nearest(mutant.file)]


def _check_without(arguments: Sequence[str], copy: WorkingCopy) -> None:
    """Raise ControlError unless these tests pass without a mutant."""
    code, lines = _run(copy, "-x", *arguments)
    if code not in (_PASSED, _NO_TESTS):  # a module of long tests alone can fail to be collected
        said = [f"without a fault this fails: pytest {' '.join(arguments)}", *lines[-40:]]
        raise ControlError("\n".join(said))


def what_failed(lines: list[str]) -> str:
    """The first test that failed, or whose process died, of what pytest said, or ""."""
    return next(iter(_failures(lines)), "")


def _failures(lines: list[str]) -> list[str]:
    ended = (_failed(line) or _crashed(line) for line in lines)
    return list(dict.fromkeys(found[1] for found in ended if found))


def _build(mutant: Mutant, copy: WorkingCopy) -> bool:
    """Whether it is another program. Raises BuildError where it is none."""
    if mutant.file.endswith(".py"):
        module = mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        code, lines = copy.run_python("-c", f"import {module}")
        if code != 0 and not module.endswith("__main__"):
            raise BuildError("\n".join(lines))
        return True
    before = copy.built()
    copy.build()
    return copy.built() != before

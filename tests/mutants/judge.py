"""Whether the tests of make test notice a mutant: those nearest to it first, and then all."""

import os
import re
from pathlib import Path
from time import monotonic

from tests.engines import OTHERS, SCHEMAS
from tests.mutants.draw import Mutant
from tests.mutants.results import Verdict
from tests.mutants.working_copy import BuildError, WorkingCopy

_TESTS = Path(__file__).parents[1]
_LIMIT_SECONDS = 2400.0
"""Of one run of tests. A test that hangs is ended long before, by pytest."""
_PASSED, _FAILED, _NO_TESTS = 0, 1, 5
_PYTEST = (
    *("-m", "pytest", "-q", "-x", "-rfE", "--tb=line", "-p", "no:cacheprovider", "-m", "not long"),
    *("-p", "tests.first_failure", "--no-header"),
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
NEAREST = {
    ("native/coin_log/", "cdb/stores/coin_log/"): _LOG,
    ("native/coin_set/", "native/engines/", "cdb/stores/coin_set/", *OWN_ROOMS): _SET,
    ("native/layouts/",): f"test_layouts.py {_SET}",
    ("native/versioned/",): "bench",
    ("native/rocksdb/", "native/name_index/"): f"rows/test_rocks_index.py {_SET}",
    ("native/common/",): f"{_LOG} {_SET}",
    ("native/scan/",): "test_scanner.py test_packed_state.py",
    ("native/preload/", "cdb/testing/faults/"): "faults",
    ("cdb/stores/rows/",): _ROWS,
}
"""Tests of what lies in these rooms, in tests/. Those that import a module of Python come first."""


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
    rooms = (tests for rooms, tests in NEAREST.items() if file.startswith(rooms))
    return [*map(str, found), *(str(_TESTS / test) for tests in rooms for test in tests.split())]


def judge(mutant: Mutant, copy: WorkingCopy) -> Verdict:
    """Try a mutant in a copy, which is without it afterwards. Raises ControlError."""
    since = monotonic()
    with copy.with_fault(mutant):
        outcome, by, control = _try(mutant, copy)
    copy.build()
    seconds = round(monotonic() - since, 1)
    if control:
        code, lines = copy.run_python(*_PYTEST, *control, limit_seconds=_LIMIT_SECONDS)
        if code != _PASSED:
            said = [f"without a fault this fails: pytest {' '.join(control)}", *lines[-40:]]
            raise ControlError("\n".join(said))
    return Verdict(outcome, by, seconds)


def _try(mutant: Mutant, copy: WorkingCopy) -> tuple[str, str, list[str]]:
    """The outcome, by what, and what has to pass without the mutant: arguments of pytest."""
    try:
        is_another = _build(mutant, copy)
    except BuildError as error:
        return "none", str(error)[-400:], []
    if not is_another:
        return "none", "it is built to the same", []
    for tests in (nearest(mutant.file), [str(_TESTS)]):
        paths = [os.path.relpath(test, _TESTS.parent) for test in tests]
        if not paths:
            continue
        code, lines = copy.run_python(*_PYTEST, *_SPREAD, *paths, limit_seconds=_LIMIT_SECONDS)
        if code is None:
            return "noticed", f"tests take more than {_LIMIT_SECONDS:.0f} s", []
        if code not in (_PASSED, _NO_TESTS):
            test = what_failed(lines)
            control = [test] if test else ["--collect-only", *paths]
            return "noticed", test or "\n".join(lines[-5:]), control
    return "survived", "", []


def what_failed(lines: list[str]) -> str:
    """The first test that failed, or whose process died, of what pytest said, or ""."""
    ended = (_failed(line) or _crashed(line) for line in lines)
    return next((found[1] for found in ended if found), "")


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

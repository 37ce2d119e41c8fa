"""Each fault point is in the code once, its test is there, and notices it."""

import ast
import re
from collections import Counter

import pytest

from tests.conftest import PACKAGE_PARENT, ROOT
from tests.mutants.draw import sources
from tests.mutants.points import POINTS
from tests.mutants.put_in.sitecustomize import without
from tests.mutants.working_copy import WorkingCopy

_points = re.compile(r'# fault: ([a-z-]+)$|CDB_FAULT\("([a-z-]+)"\)', re.MULTILINE).findall
FOUND = [
    (name, in_python or in_native)
    for name in sources(ROOT)
    for in_python, in_native in _points((ROOT / name).read_text("utf-8"))
]
"""Where each point is."""


def test_the_points_are_those_in_the_code() -> None:
    assert Counter(point for _, point in FOUND) == dict.fromkeys(POINTS, 1)
    assert len(POINTS) >= 40


def test_a_statement_of_python_is_left_out_whole() -> None:
    left_out = {each: without((ROOT / path).read_text("utf-8"), each) for path, each in IN_PYTHON}
    for path, each in IN_PYTHON:
        whole = ast.parse((ROOT / path).read_text("utf-8"))
        assert ast.dump(left_out[each]) != ast.dump(whole)
        compile(left_out[each], path, "exec")
    with pytest.raises(ValueError, match="not enough values"):
        without("f()\n", "name")
    with pytest.raises(ValueError, match="begins no statement"):
        without("f(\n  1)  # fault: name\n", "name")


IN_PYTHON = [(path, point) for path, point in FOUND if path.endswith(".py")]


def test_the_tests_that_notice_them_are_there() -> None:
    for test in POINTS.values():
        path, _, names = test.partition("::")
        text = (ROOT / path).read_text("utf-8")
        [*classes, function] = names.partition("[")[0].split("::")
        if not classes:
            assert f"def {function}(" in text, test
        else:
            assert any(f"def {function}(" in each.read_text() for each in CONTRACTS), test


CONTRACTS = [
    *(ROOT / "cdb/testing").rglob("*.py"),
    *(ROOT / "tests/schemas").glob("test_*.py"),
    ROOT / "tests/engine_suite.py",
]


def test_nothing_that_is_installed_has_a_native_one() -> None:
    built = sorted((PACKAGE_PARENT / "cdb").rglob("*.so"))
    assert built
    assert [path for path in built if b"CDB_FAULT" in path.read_bytes()] == []


@pytest.fixture(scope="module")
def copy() -> WorkingCopy:
    """A copy that is built with the points."""
    made = WorkingCopy(ROOT, ROOT / "build/faults", "CDB_FAULTS=ON")
    made.refresh()
    return made


TRIES = 4
"""A lock that isn't taken is noticed where threads meet, which a busy machine may prevent."""


def run(copy: WorkingCopy, *tests: str, fault: str) -> tuple[int | None, str]:
    put_in = copy.path / "tests/mutants/put_in"
    code, lines = copy.run_python(
        *("-m", "pytest", "-q", "-x", "--tb=short", "-p", "tests.first_failure", *tests),
        CDB_FAULT=fault,
        PYTHONPATH=str(put_in),
    )
    return code, "\n".join(lines[-40:])


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("fault", POINTS)
def test_a_fault_is_noticed_by_its_test(fault: str, copy: WorkingCopy) -> None:
    said = ""
    for _ in range(TRIES):
        code, said = run(copy, POINTS[fault], fault=fault)
        if code == pytest.ExitCode.TESTS_FAILED or (code is not None and code < 0):
            return
        if code == pytest.ExitCode.OK and said.strip().startswith("s "):
            pytest.skip("it is in an engine that is not built")
    pytest.fail(said)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_without_a_fault_all_these_tests_pass(copy: WorkingCopy) -> None:
    code, said = run(copy, *sorted({*POINTS.values()}), fault="none")
    assert code == pytest.ExitCode.OK, said

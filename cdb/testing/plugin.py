"""The pytest plugin: ``pytest --cdb-schema NAME`` holds a schema to the contract, under faults too.

Where its module says what makes databases with secondary keys, that is held to the
contract of these; and where databases have a method of HistorySchema, they are held to all of it.

NAME is what the commands take: a name, a module (also of the directory where pytest was started),
or ``module:ATTRIBUTE``. The option may be given several times. Without test files on the command
line only the conformance suite runs.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cdb.errors import CdbError, SchemaError

FAULT_COVERAGE = "fault coverage"
"""The property in which a test records what it covered."""
SUITE = Path(__file__).with_name("suite.py")
INDEXED_SUITE = Path(__file__).with_name("secondary_keys_suite.py")
HISTORY_SUITE = Path(__file__).with_name("history_suite.py")
_WITH_HISTORY = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --cdb-schema."""
    parser.getgroup("cdb").addoption(
        "--cdb-schema",
        action="append",
        default=[],
        metavar="SCHEMA",
        help="Hold this schema to cdb's contract (may be repeated).",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Run the suite for the schemas that were named."""
    if config.getoption("cdb_schema"):
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args.clear()
        config.args.append(str(SUITE))
        if indexed_schemas(config):
            config.args.append(str(INDEXED_SUITE))
        if schemas_with_history(config):
            config.args.append(str(HISTORY_SUITE))


def indexed_schemas(config: pytest.Config) -> list[str]:
    """What makes databases with secondary keys, of the schemas that were named.

    Raises pytest.UsageError for one that nobody knows.
    """
    from cdb.schemas.registry import find_schema  # not in each run of pytest

    folder = None if sys.flags.safe_path else config.invocation_params.dir
    specs: dict[str, None] = {}
    for name in config.getoption("cdb_schema"):
        try:
            specs[find_schema(name, folder=folder).indexed or ""] = None
        except SchemaError as error:
            raise pytest.UsageError(str(error)) from error
    return [spec for spec in specs if spec]


def schemas_with_history(config: pytest.Config) -> list[str]:
    """Those of the schemas that were named whose databases have a method of HistorySchema."""
    if _WITH_HISTORY not in config.stash:
        names = dict.fromkeys(config.getoption("cdb_schema"))
        config.stash[_WITH_HISTORY] = [name for name in names if _has_history(name)]
    return config.stash[_WITH_HISTORY]


def _has_history(name: str) -> bool:
    from cdb.schemas import HISTORY_METHODS, find_schema  # not in each run of pytest

    with TemporaryDirectory() as directory:
        try:
            with find_schema(name).open(Path(directory) / "database") as schema:
                return any(hasattr(schema, method) for method in HISTORY_METHODS)
        except CdbError:
            return False  # the contract's own tests tell why


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many faults were made."""
    lines = [
        str(value)
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
        if name == FAULT_COVERAGE
    ]
    if lines:
        terminalreporter.section("faults covered")
        for line in sorted(lines):
            terminalreporter.write_line(line)

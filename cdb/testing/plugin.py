"""The pytest plugin: ``pytest --cdb-schema NAME`` holds a schema to the contract, under faults too.

NAME is what the commands take: a name, a module, or ``module:ATTRIBUTE``. The option may be given
several times. Without test files on the command line only the conformance suite runs.
"""

from pathlib import Path

import pytest

FAULT_COVERAGE = "fault coverage"
"""The property in which a test records what it covered."""
SUITE = Path(__file__).with_name("suite.py")


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

"""The pytest plugin: ``pytest --cdb-schema NAME`` holds a schema to the contract.

NAME is what the commands take: a name, a module, or ``module:ATTRIBUTE``. The option may be given
several times. Without test files on the command line only the conformance suite runs.
"""

from pathlib import Path

import pytest

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

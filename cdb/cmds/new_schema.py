"""new_schema: begin a schema of one's own."""

import builtins
import importlib.util
import inspect
import re
import sys
from keyword import iskeyword, issoftkeyword
from pathlib import Path

import click

from cdb.building import starter
from cdb.cmds.echo import echo
from cdb.cmds.runner import run
from cdb.engines import ENGINES
from cdb.errors import CdbError, storage_errors
from cdb.schemas import schema_names
from cdb.schemas.registry import OWN_SCHEMAS
from cdb.stores.coin_set.layouts import LAYOUTS

TRIAL_COINS = 100_000
_is_name = re.compile("[a-z][a-z0-9_]*").fullmatch
_is_of_tests = re.compile("conftest|test_.*|.*_test").fullmatch
_SHADOWING = {*sys.stdlib_module_names, "pytest", "hypothesis", "sitecustomize", "usercustomize"}
"""What Python or pytest would import from here in place of its own, whether installed or not."""


@click.command("new_schema")
@click.argument("name")
def new_schema(name: str) -> None:
    """Write NAME.py into the current directory: a schema that keeps the contract as it stands.

    It keeps all coins in memory, and one file that each flush replaces: your idea goes there. What
    is printed are the commands that try it: they hold it to the contract, load a replay into it,
    and measure it beside cdb's own. A file that is there is never overwritten.

    \b
    Example:
      cdb new_schema my_idea
    """
    _check_name(name)
    path = Path(f"{name}.py")
    _write_new(path, inspect.getsource(starter).replace('"starter"', f'"{name}"'))
    echo(_next_steps(name, path))


def _check_name(name: str) -> None:
    if not _is_name(name) or iskeyword(name) or issoftkeyword(name):
        problem = "a schema's name is of a-z, 0-9 and _, begins with a letter, and is no keyword"
        raise click.UsageError(f"'{name}' can't be imported: {problem}")
    if name in LAYOUTS or name in ENGINES:
        raise CdbError(f"{name} is a part of schemas' names (LAYOUT@ENGINE); choose another name")
    if name in (*schema_names(), *OWN_SCHEMAS):
        raise CdbError(f"{name} is a schema that is there already; choose another name")
    if hasattr(builtins, name):
        raise CdbError(f"{name} is a name of Python's own; choose another name")
    if _is_of_tests(name):
        raise CdbError(f"{name} is what pytest takes for tests; choose another name")
    if name in _SHADOWING:
        raise CdbError(f"{name} is a Python module that others import; choose another name")
    if not Path(f"{name}.py").exists() and importlib.util.find_spec(name) is not None:
        raise CdbError(f"{name} is a Python module that is there already; choose another name")


def _write_new(path: Path, source: str) -> None:
    with storage_errors(path):
        try:
            file = path.open("x", encoding="utf-8")
        except FileExistsError:
            raise CdbError(f"{path} is there already; choose another name") from None
        try:
            with file:
                file.write(source)
        except OSError:
            path.unlink()
            raise


def _next_steps(name: str, path: Path) -> str:
    return f"""{path} is a schema that keeps the contract. Make it yours, and try it here:

  pytest --cdb-schema {name}
  cdb make_replay --coins {TRIAL_COINS} | cdb load_blocks {name}
  cdb bench run --quick {name}

The first needs what pip installs with '.[testing]', and the last what it installs with '.[bench]'.
docs/adding-a-schema.md says what it may do beyond that."""


if __name__ == "__main__":
    run(new_schema)

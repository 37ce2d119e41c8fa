"""What was compiled: beside the sources, or where pip has put it.

Python imports cdb from the current directory first. In a checkout that was installed by ``pip
install .`` these are the sources alone, and what was made of them lies where the package was
installed. It is used from there if it was made of these very sources.
"""

import tomllib
from functools import cache
from hashlib import sha256
from importlib import metadata
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

from cdb.errors import MissingEngineError
from cdb.extensions import DISTRIBUTION

PACKAGE = Path(__file__).parents[1]
ROOT = PACKAGE.parent
SOURCES = "native_sources.sha256"
"""In the installed package: a line for each file of native/, with its SHA-256 and its path."""


def built_file(path: str) -> Path:
    """Where a file is that was compiled: of this package, or the installed one's if it is not here.

    path: within the package. It may be in neither.
    """
    here = PACKAGE / path
    if here.exists():
        return here
    try:
        installed = _installed_package()
    except MissingEngineError:
        return here
    return here if installed is None else installed / path


def built_module(name: str) -> ModuleType | None:
    """An extension module of the installed package, under its full name; None where it has none.

    Raises MissingEngineError where the installed package is of other sources than these.
    """
    installed = _installed_package()
    if installed is None:
        return None
    folder = installed.joinpath(*name.split(".")[1:-1])
    spec = PathFinder.find_spec(name, [str(folder)])
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _installed_package() -> Path | None:
    """The installed package that belongs to this checkout, if this is one and there is one."""
    if not ((ROOT / "pyproject.toml").is_file() and (ROOT / "native").is_dir()):
        return None
    try:
        distribution = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None
    package = Path(str(distribution.locate_file("cdb")))
    if not package.is_dir() or package.samefile(PACKAGE):
        return None
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    again = f"type 'pip install .' in {ROOT}"
    if distribution.version != version:
        problem = f"cdb {distribution.version} is installed, and this checkout is cdb {version}"
        raise MissingEngineError(f"{problem}; {again}")
    if not _is_of_these_sources(package / SOURCES):
        problem = "the cdb that is installed was built from other sources than this checkout's"
        raise MissingEngineError(f"{problem}; {again}")
    return package


def _is_of_these_sources(listed: Path) -> bool:
    try:
        lines = [line.split("  ", 1) for line in listed.read_text("utf-8").splitlines()]
        return all(
            sha256((ROOT / "native" / path).read_bytes()).hexdigest() == digest
            for digest, path in lines
        )
    except OSError:  # one of the two has no such file
        return False

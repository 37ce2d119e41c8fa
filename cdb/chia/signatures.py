"""Whether the installed chia has the coin store that this one stands in for."""

import inspect
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from cdb.errors import UnsupportedError

MADE_FOR = "2.7.5"


def check_signatures(theirs: type[Any], ours: type[Any]) -> None:
    """Raise UnsupportedError where chia's class has other methods, or other parameters."""
    differing = sorted(
        name
        for name, parameters in _methods(theirs).items()
        if _methods(ours).get(name) != parameters
    )
    if differing:
        raise another_chia(", ".join(differing))


def another_chia(what: str) -> UnsupportedError:
    """What to say of a chia that this cdb was not made for; what: what differs, or is missing."""
    try:
        installed = version("chia-blockchain")
    except PackageNotFoundError:
        installed = "of an unknown version"
    problem = f"chia-blockchain {installed} is installed, and its coin store differs"
    problem = f"{problem} from that of {MADE_FOR}, which cdb.chia stands in for ({what})"
    return UnsupportedError(f"{problem}; install {MADE_FOR}, or a newer cdb")


def _methods(store: type[Any]) -> dict[str, list[tuple[str, Any, Any]]]:
    """The coroutines of a class: names, kinds and defaults of their parameters."""
    return {
        name: [(each.name, each.kind, each.default) for each in _parameters(method)]
        for name, method in inspect.getmembers(store, inspect.iscoroutinefunction)
    }


def _parameters(method: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(method).parameters.values())

"""Whether the installed chia has the coin store that this one stands in for."""

import inspect
from importlib.metadata import version
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
        problem = f"chia-blockchain {version('chia-blockchain')} is installed, and its coin store"
        problem = f"{problem} differs from that of {MADE_FOR}, which cdb.chia stands in for"
        raise UnsupportedError(
            f"{problem} ({', '.join(differing)}); install {MADE_FOR}, or a newer cdb"
        )


def _methods(store: type[Any]) -> dict[str, list[tuple[str, Any, Any]]]:
    """The coroutines of a class: names, kinds and defaults of their parameters."""
    return {
        name: [(each.name, each.kind, each.default) for each in _parameters(method)]
        for name, method in inspect.getmembers(store, inspect.iscoroutinefunction)
    }


def _parameters(method: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(method).parameters.values())

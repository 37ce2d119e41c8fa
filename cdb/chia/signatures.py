"""Whether the installed chia has the coin store that this one stands in for."""

import inspect
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from cdb.errors import UnsupportedError

MADE_FOR = "2.7.0 to 2.7.5"
"""The oldest and the newest release whose own tests have been passed."""


class _Call(NamedTuple):
    parameters: list[inspect.Parameter]
    is_iterated: bool


def check_signatures(theirs: type[Any], ours: type[Any]) -> None:
    """Raise UnsupportedError where a call that chia's class takes is not one that ours takes.

    A parameter that only ours has, of a later release, must have a default.
    """
    answered, asked = _methods(ours), _methods(theirs)
    no_longer = (name for name in answered if hasattr(theirs, name) and name not in asked)
    differing = sorted(
        {
            *(name for name, call in asked.items() if not _takes(answered.get(name), call)),
            *no_longer,  # it is there, and not to be awaited
        }
    )
    if differing:
        raise another_chia(", ".join(differing))


def default_of(method: Any, parameter: str, otherwise: int) -> int:
    """The default of a method's parameter; otherwise: what counts where it has none."""
    found = inspect.signature(method).parameters.get(parameter)
    return otherwise if found is None else found.default


def another_chia(what: str) -> UnsupportedError:
    """What to say of a chia that this cdb was not made for; what: what differs, or is missing."""
    try:
        installed = version("chia-blockchain")
    except PackageNotFoundError:
        installed = "of an unknown version"
    problem = f"chia-blockchain {installed} is installed, and its coin store differs"
    problem = f"{problem} from those of {MADE_FOR}, which cdb.chia stands in for ({what})"
    return UnsupportedError(f"{problem}; install one of these, or a newer cdb")


def _takes(ours: _Call | None, theirs: _Call) -> bool:
    if ours is None or ours.is_iterated != theirs.is_iterated:
        return False
    n = len(theirs.parameters)
    alike = list(map(_told, ours.parameters[:n])) == list(map(_told, theirs.parameters))
    return alike and all(each.default is not each.empty for each in ours.parameters[n:])


def _told(parameter: inspect.Parameter) -> tuple[str, Any, Any]:
    return parameter.name, parameter.kind, parameter.default


def _methods(store: type[Any]) -> dict[str, _Call]:
    """The coroutines and asynchronous generators of a class."""
    found = inspect.getmembers(store, inspect.isroutine)
    return {
        name: _Call(list(inspect.signature(method).parameters.values()), is_iterated=is_iterated)
        for name, method in found
        if (is_iterated := inspect.isasyncgenfunction(method))
        or inspect.iscoroutinefunction(method)
    }

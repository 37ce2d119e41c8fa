"""Whether the installed chia has the coin store that this one stands in for."""

import inspect
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from cdb.errors import UnsupportedError

MADE_FOR = "2.7.0 to 2.7.5"
"""The oldest and the newest release whose own tests have been passed."""


def check_signatures(theirs: type[Any], ours: type[Any]) -> None:
    """Raise UnsupportedError where a call that chia's class takes is not one that ours takes.

    A parameter that only ours has, of a later release, must have a default.
    """
    answered = _methods(ours)
    differing = sorted(
        name
        for name, parameters in _methods(theirs).items()
        if not _takes(answered.get(name, []), parameters)
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


def _takes(ours: list[inspect.Parameter], theirs: list[inspect.Parameter]) -> bool:
    alike = [_told(each) for each in ours[: len(theirs)]] == [_told(each) for each in theirs]
    return alike and all(each.default is not each.empty for each in ours[len(theirs) :])


def _told(parameter: inspect.Parameter) -> tuple[str, Any, Any]:
    return parameter.name, parameter.kind, parameter.default


def _methods(store: type[Any]) -> dict[str, list[inspect.Parameter]]:
    """The coroutines of a class, with their parameters."""
    return {
        name: list(inspect.signature(method).parameters.values())
        for name, method in inspect.getmembers(store, inspect.iscoroutinefunction)
    }

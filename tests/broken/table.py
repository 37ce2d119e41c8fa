"""Stores that are each broken in one way, which the tests of the tests must notice.

Each other module here is a table of faults in one right store. Another process finds one as
"tests.broken.MODULE:NAME".
"""

import inspect
import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import Any


class Faults(dict[str, type[Any]]):
    """The broken twins of a right store, by name. module: where they can be found."""

    def __init__(self, module: str, right: type[Any]) -> None:
        super().__init__()
        self._module = module
        self._right = right

    def __call__(self, where: str | Callable[[Any], dict[str, Any]], /, **faults: Any) -> None:
        """Add some that are wrong at one place: a method, or what a function gives to add()."""
        for name, wrong in faults.items():
            self.add(name, "", **({where: wrong} if isinstance(where, str) else where(wrong)))

    def add(self, name: str, what: str, /, **wrong: Any) -> None:
        """Add one. wrong: what is instead of which attribute.

        A function is given the store, its right method (if it has that), and the arguments; for a
        property the method that reads it.
        """
        members = {each: _member(self._right, each, instead) for each, instead in wrong.items()}
        self.keep(
            type(name, (self._right,), {"__module__": self._module, "__doc__": what, **members})
        )

    def keep(self, twin: type[Any]) -> type[Any]:
        """Add one that is a class of its own: it remembers something, or is opened otherwise."""
        assert twin.__name__ not in self
        self[twin.__name__] = twin
        setattr(sys.modules[self._module], twin.__name__, twin)
        return twin


def _member(base: type[Any], name: str, instead: Any) -> Any:
    right = inspect.getattr_static(base, name, None)
    if right is None or not inspect.isfunction(instead):
        return instead
    if isinstance(right, property):
        return property(lambda store: instead(store, partial(right.__get__, store)))
    method = getattr(base, name)

    @wraps(method)
    def wrong(store: Any, *args: Any, **options: Any) -> Any:
        return instead(store, partial(method, store), *args, **options)

    return wrong

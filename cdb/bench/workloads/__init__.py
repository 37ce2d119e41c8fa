"""The workloads: one a file, whose docstring says what is measured; see cdb.bench.case.

ORDER in a file says when it runs: the load first, and each leaves the whole replay to the next one.
A file without runs when it is called for.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

DIGEST = "digest"
"""Checks what the database holds, after a load; it has no figures."""


@cache
def workloads() -> tuple[str, ...]:
    """Their names, in the order in which they run."""
    modules = {name: import_module(f"{__name__}.{name}") for _, name, _ in iter_modules(__path__)}
    ordered = [name for name in modules if hasattr(modules[name], "ORDER")]
    return tuple(sorted(ordered, key=lambda name: (modules[name].ORDER, name)))

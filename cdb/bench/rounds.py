"""Several runs: the order of who is measured."""

from collections.abc import Callable, Sequence

Note = Callable[[str], None]


def rotated(names: Sequence[str], by: int) -> list[str]:
    """The names, beginning further on in each round, so that none has always the same neighbour."""
    start = by % len(names)
    return [*names[start:], *names[:start]]

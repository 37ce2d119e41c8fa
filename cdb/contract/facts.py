"""What a database knows of itself without being read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Facts:
    """None: it doesn't know.

    coins: how many there are. is_settled: whether settle() would have nothing to do.
    """

    coins: int | None = None
    is_settled: bool | None = None

"""What a benchmark is to do."""

from dataclasses import dataclass
from pathlib import Path

from cdb.durability import Durability

DATABASE_BYTES = 250  # a coin, in the largest schema


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run how often, and where: the directory exists; truth/ and of-*/ are for it.

    afterwards: whether to measure the schemas in all workloads after the loads.
    """

    replay: Path
    directory: Path
    runs: int
    flush_coins: int
    durability: Durability
    schemas: tuple[str, ...] = ()
    afterwards: bool = False

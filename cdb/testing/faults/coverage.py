"""How many faults a trial made."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Coverage:
    """Points covered, of those that there are; databases: how many were opened for that.

    Several points may leave the same bytes, which are opened once. found: what came of them, where
    several outcomes are right.
    """

    trial: str
    spec: str
    seed: int
    points: int
    possible: int
    databases: int
    found: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.points:
            return f"{self.trial} {self.spec} seed {self.seed}: nothing was tried"
        of = "" if self.points == self.possible else f" of {self.possible}"
        found = "".join(f", {count} {what}" for what, count in self.found.items())
        return (
            f"{self.trial} {self.spec} seed {self.seed}: {self.points}{of} points,"
            f" {self.databases} databases opened{found}"
        )

"""How many faults a trial made."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Coverage:
    """Points covered, of those that there are; databases: how many were opened for that.

    Several points may leave the same bytes, which are opened once.
    """

    trial: str
    spec: str
    seed: int
    points: int
    possible: int
    databases: int

    def __str__(self) -> str:
        of = "" if self.points == self.possible else f" of {self.possible}"
        return (
            f"{self.trial} {self.spec} seed {self.seed}: {self.points}{of} points,"
            f" {self.databases} databases opened"
        )

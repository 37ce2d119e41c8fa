"""What a check of a database's files finds: the file, what is wrong, and what can rebuild it."""

from dataclasses import dataclass
from pathlib import Path

from cdb.errors import DatabaseError, known_path


@dataclass(frozen=True, slots=True)
class Damage:
    """Something wrong with one file (or directory) of a database.

    path: as known_path() gives it. problem: what is wrong, and where in the file.
    repairable_from: the name of the file that it is derived from, which is sound; None when nothing
    can rebuild it.
    """

    path: Path
    problem: str
    repairable_from: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(known_path(self.path)))

    @classmethod
    def of(cls, error: DatabaseError, repairable_from: str | None = None) -> "Damage":
        """What an error says, without its advice."""
        return cls(Path(error.path), error.problem, repairable_from)

    def __str__(self) -> str:
        if self.repairable_from is None:
            return f"{self.path}: {self.problem}; no repair"
        return f"{self.path}: {self.problem}; --repair rebuilds it from {self.repairable_from}"

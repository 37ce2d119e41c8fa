"""What a trial finds, and what an engine is known not to do: fields, which no wording decides."""

from dataclasses import dataclass
from fnmatch import fnmatch

from cdb.contract.durability import Durability

WRONG = ("served", "unseen")
"""The outcomes of damage where an answer is wrong; see docs/faults.md."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a trial found that breaks a promise.

    outcome: of damage: served, unseen, overlooked (verify is silent) or died; of an opening after
    a fault: fails; of a call that did half: noticed; "" of anything else, which no limit explains.
    file: the file that was damaged, or that the error names; the database is called `db`. change:
    what was done to the file, as a point is called. error: the error's class. signal: what killed
    the process.
    """

    outcome: str = ""
    file: str = ""
    change: str = ""
    error: str = ""
    signal: int = 0


@dataclass(frozen=True, slots=True)
class Limit:
    """What the engine beneath a schema can't do, however it is used.

    trials: the kinds of trials that show it; outcomes: what they find, see Finding; reason: why
    nothing helps, for people. file, change and error are those of the finding. trials, file, change
    and error are patterns (fnmatch); `python -m cdb.testing.faults --help` lists the trials.
    signal: what kills the process. durability: the only level at which it shows; None for all.
    """

    trials: str
    outcomes: tuple[str, ...]
    reason: str
    file: str = "*"
    change: str = "*"
    error: str = "*"
    signal: int = 0
    durability: Durability | None = None

    def explains(self, trial: str, finding: Finding) -> bool:
        """Whether that is what a trial has found."""
        return (
            finding.outcome in self.outcomes
            and finding.signal == self.signal
            and fnmatch(trial, self.trials)
            and fnmatch(finding.file, self.file)
            and fnmatch(finding.change, self.change)
            and fnmatch(finding.error, self.error)
        )

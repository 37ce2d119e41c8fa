"""What was found of a sample: kept after each mutant, and told in one short file."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path

from tests.mutants.draw import Mutant

_Z = 1.959964
"""Of a normal distribution, 95 % lie within so many standard deviations."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """outcome: noticed; in doubt, where the nearest tests passed; survived, where all did; or none
    where it is no mutant: not built, or built to the same.

    by: which test noticed it, or why it is none.
    """

    outcome: str
    by: str
    seconds: float


class Results:
    """Of one sample, in a file, which names the sources that it is of."""

    def __init__(self, path: Path, sample: dict[str, str | int]) -> None:
        """What the file has of this very sample is taken up. Other contents are dropped."""
        self._path, self._sample = path, sample
        self._verdicts: dict[Mutant, Verdict] = {}
        kept = json.loads(path.read_text()) if path.exists() else {}
        if kept.get("sample") == sample:
            for mutant, verdict in kept["verdicts"]:
                self._verdicts[Mutant(**mutant)] = Verdict(**verdict)

    def __contains__(self, mutant: Mutant) -> bool:
        return mutant in self._verdicts

    @property
    def n_tried(self) -> int:
        """Of mutants that are such."""
        return sum(verdict.outcome != "none" for verdict in self._verdicts.values())

    def in_doubt(self) -> list[Mutant]:
        """Those that no line has twice; of a line that has several, the first."""
        doubtful = (each for each, found in self._verdicts.items() if found.outcome == "in doubt")
        first: dict[tuple[str, int], Mutant] = {}
        for each in doubtful:
            first.setdefault((each.file, each.line), each)
        return list(first.values())

    def add(self, mutant: Mutant, verdict: Verdict) -> None:
        self._verdicts[mutant] = verdict
        pairs = [[asdict(each), asdict(found)] for each, found in self._verdicts.items()]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        beside = self._path.with_suffix(".tmp")
        beside.write_text(json.dumps({"sample": self._sample, "verdicts": pairs}, indent=1))
        beside.replace(self._path)  # whole, or as it was: it may be ended at any time

    def summary(self) -> str:
        """The share of each language, and of all."""
        kinds: dict[str, str | tuple[str, ...]] = {
            "Python": ".py",
            "native": ("c", "h", "cpp"),
            "all": "",
        }
        return "\n".join(_share(name, self._outcomes(end)) for name, end in kinds.items())

    def _outcomes(self, end: str | tuple[str, ...]) -> Counter[str]:
        found = self._verdicts.items()
        return Counter(verdict.outcome for each, verdict in found if each.file.endswith(end))

    def report(self) -> str:
        """Markdown: what was drawn, the shares, and the mutants that survived."""
        drawn = ", ".join(f"{name} {value}" for name, value in self._sample.items())
        none = self._outcomes("")["none"]
        return "\n".join(
            [
                "# A sample of mutants\n",
                f"{drawn}; made again by `make mutants` ([docs/mutants.md](../docs/mutants.md)).\n",
                *(f"- {line}" for line in self.summary().splitlines()),
                f"- {none} more were none: they don't compile, or compile to the same\n",
                "## Survived\n",
                *self._survivors(),
                "",
            ]
        )

    def _survivors(self) -> Iterator[str]:
        for mutant, verdict in sorted(self._verdicts.items(), key=lambda pair: str(pair[0])):
            if verdict.outcome == "survived":
                yield f"- `{mutant}`"


def _share(name: str, outcomes: Counter[str]) -> str:
    noticed = outcomes["noticed"]
    n = noticed + outcomes["survived"]
    if n == 0:
        return f"{name}: none judged"
    low, high = wilson(noticed, n)
    return f"{name}: {noticed} of {n} noticed, {noticed / n:.1%} (95 %: {low:.1%} to {high:.1%})"


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, of which a sample of n > 0 is known."""
    share, square = successes / n, _Z * _Z / n
    middle = (share + square / 2) / (1 + square)
    reach = _Z * sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    return max(0.0, middle - reach), min(1.0, middle + reach)

"""What came of each mutant, first and last: a JSON file that is written anew after each."""

import json
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cdb.disk.files import replace_file
from tests.mutants.judge import Verdict
from tests.mutants.mutant import Mutant

RESULTS = "results.json"
REPORT = "report.md"
_HEADER = "| mutant | promise | blind | first | last | by | s |\n|---|---|---|---|---|---|--:|\n"


@dataclass
class Results:
    """Keeps each mutant's first result and its last. source: the fingerprint of what was tried."""

    directory: Path
    source: str
    mutants: dict[str, dict[str, Any]] = field(default_factory=dict)
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, directory: Path, source: str) -> "Results":
        """Those of a directory."""
        results = cls(directory, source)
        path = directory / RESULTS
        if path.exists():
            results.mutants = json.loads(path.read_bytes())["mutants"]
        return results

    def add(self, mutant: Mutant, verdict: Verdict) -> None:
        """Take in a result, and write all."""
        result = {**asdict(verdict), "source": self.source}
        with self._mutex:
            known = self.mutants.get(mutant.name)
            is_first = known is None or known["first"]["outcome"] == "invalid"
            first = result if is_first or known is None else known["first"]
            self.mutants[mutant.name] = {"first": first, "last": result}
            self.write()

    def is_due(self, mutant: Mutant) -> bool:
        """Whether it was not tried yet, or not by all tests; or it was not killed, and the source
        is another one since."""
        if mutant.name not in self.mutants:
            return True
        last = self.mutants[mutant.name]["last"]
        was_cut_short = last["outcome"] == "survived" and last["by"]
        return bool(
            was_cut_short or (last["outcome"] != "killed" and last["source"] != self.source)
        )

    def write(self) -> None:
        """Replace the file."""
        self.directory.mkdir(parents=True, exist_ok=True)
        document = {"source": self.source, "mutants": self.mutants}
        data = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        replace_file(self.directory / RESULTS, data.encode(), durable=False)

    def write_report(self, catalogue: Iterable[Mutant]) -> None:
        """Write the table, of the catalogue's mutants in its order."""
        tried = self._tried(catalogue)
        text = "".join([_HEADER, *map(self._line, tried), "\n", self.summary(tried)])
        (self.directory / REPORT).write_text(text, "utf-8")

    def summary(self, catalogue: Iterable[Mutant]) -> str:
        """How many of the catalogue's mutants were killed."""
        return "".join(self._counts(self._tried(catalogue)))

    def _tried(self, catalogue: Iterable[Mutant]) -> list[Mutant]:
        return [mutant for mutant in catalogue if mutant.name in self.mutants]

    def _line(self, mutant: Mutant) -> str:
        first, last = (self.mutants[mutant.name][when] for when in ("first", "last"))
        rule = f"rule {mutant.rule}: " if mutant.rule else ""
        by = f"{last['step']}: {last['by']}" if last["step"] else last["by"]
        blind = "blind" if mutant.blind else ""
        cells = (
            *(f"`{mutant.name}`", rule + mutant.promise, blind, first["outcome"], last["outcome"]),
            *(" ".join(by.split()).replace("|", "\\|")[:300], f"{last['seconds']:.0f}"),
        )
        return f"| {' | '.join(cells)} |\n"

    def _counts(self, tried: list[Mutant]) -> Iterator[str]:
        for when in ("first", "last"):
            outcomes = [self.mutants[mutant.name][when]["outcome"] for mutant in tried]
            counts = ", ".join(
                f"{outcomes.count(each)} {each}"
                for each in ("killed", "survived", "invalid")
                if each in outcomes
            )
            yield f"- {when} results of {len(tried)} mutants: {counts}\n"
        blind = sum(mutant.blind for mutant in tried)
        yield f"- {blind} of them were chosen without a look at any test\n"

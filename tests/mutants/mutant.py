"""A fault that is put in on purpose: one line of one file, and what stands there instead."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault.

    file: from the top of the checkout. line: a line of it as it stands there once, and only once,
    without its indentation. fault: what replaces it, as indented as the line was.
    promise: what is promised, and no longer kept. rule: that of the specification; 0 where it is
    another document that promises it. schemas: those whose promise it is.
    blind: it was chosen without a look at any test.
    """

    name: str
    file: str
    line: str
    fault: str
    rule: int
    promise: str
    schemas: tuple[str, ...]
    blind: bool = False

    def put_into(self, checkout: Path) -> None:
        """Replace the line. Raises ValueError unless it is there once."""
        path = checkout / self.file
        path.write_bytes(self.mutated(path.read_text("utf-8")).encode())

    def mutated(self, text: str) -> str:
        """The file's text with the fault in it. Raises ValueError unless the line is there once."""
        lines = text.splitlines(keepends=True)
        places = [place for place, line in enumerate(lines) if line.strip() == self.line]
        if len(places) != 1:
            raise ValueError(f"{self.name}: {self.file} has {len(places)} lines {self.line!r}")
        [place] = places
        lines[place] = lines[place].replace(self.line, self.fault)
        return "".join(lines)

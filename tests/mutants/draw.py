"""Mutants that nobody chose: a sample of what universalmutator's operators make of the sources."""

import contextlib
import io
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType

_PYTHON, _NATIVE = ("universal.rules", "python.rules"), ("universal.rules", "c_like.rules")
_RULES = {
    ".py": _PYTHON,
    ".c": (*_NATIVE, "c.rules"),
    ".h": (*_NATIVE, "cpp.rules"),
    ".cpp": (*_NATIVE, "cpp.rules"),
}
"""The operators, by how a file's name ends."""

_TOOL = "universalmutator==1.14.1"
_NOT_SHIPPED = ("native/fuzz/", "native/sanitizers/", "native/bundled/")
_HELD_ELSEWHERE = (
    *("cdb/chia/", "cdb/cmds/cluster", "cdb/cluster/", "cdb/bench/cluster/"),
    *("cdb/testing/cluster/", "cdb/stores/cassandra/", "cdb/schemas/cassandra.py"),
)
"""What make test can't run: it needs chia-blockchain, or servers, which other commands have."""

Operators = Callable[[str, str], dict[int, list[str]]]
"""Of a file's name and text: by line number, from 1, what may stand there instead."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """file is relative to the checkout, line counts from 1, text is what stands there instead."""

    file: str
    line: int
    text: str

    def mutated(self, source: str) -> str:
        lines = source.splitlines(keepends=True)
        lines[self.line - 1] = self.text
        return "".join(lines)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {' ⏎ '.join(self.text.split(chr(10))).strip(' ⏎')}"


def sources(checkout: Path, only: str = "") -> list[str]:
    """The sources that git tracks, that are installed and that make test runs; those below only."""
    command = ["git", "ls-files", "-z", "--", "cdb/*.py", "native/"]
    names = subprocess.check_output(command, cwd=checkout, text=True).split("\0")
    return sorted(
        name
        for name in names
        if Path(name).suffix in _RULES and not name.startswith((*_NOT_SHIPPED, *_HELD_ELSEWHERE))
        if Path(name).is_relative_to(only)
    )


def drawn(checkout: Path, files: list[str], seed: int, operators: Operators) -> Iterator[Mutant]:
    """Mutants in an order that the seed decides: each time of a line, all lines alike, one of its.

    What operators leave as it was, Python compiles to the same, or can't compile, is passed over.
    """
    texts = {name: (checkout / name).read_text("utf-8") for name in files}
    lines = [(name, line + 1) for name in files for line in range(len(texts[name].splitlines()))]
    of_file = cache(lambda name: operators(name, texts[name]))
    chance = random.Random(seed)
    seen = set()
    for _ in range(100 * len(lines)):
        name, line = chance.choice(lines)
        if choices := of_file(name).get(line):
            mutant = Mutant(name, line, chance.choice(choices))
            if mutant not in seen and _is_another(mutant, texts[name]):
                seen.add(mutant)
                yield mutant


def _is_another(mutant: Mutant, source: str) -> bool:
    """Whether it is another program; native ones are compared when they were built."""
    if not mutant.file.endswith(".py"):
        return True
    try:
        return _compiled(mutant.mutated(source)) != _compiled(source)
    except (SyntaxError, ValueError):
        return False


def _compiled(source: str) -> tuple[object, ...]:
    """What runs, without docstrings and assertions, and without places in the source."""
    return _what_runs(compile(source, "", "exec", optimize=2, dont_inherit=True))


def _what_runs(code: CodeType) -> tuple[object, ...]:
    inner = (_what_runs(it) if isinstance(it, CodeType) else repr(it) for it in code.co_consts)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return (code.co_code, code.co_exceptiontable, *inner, *names, *counts)


def universalmutator(place: Path) -> Operators:
    """The operators of universalmutator, which is installed into place unless it is there.

    Without what it requires, for its command alone: comby, and a `typing` of Python 2.
    """
    if not (place / "universalmutator").exists():
        install = ["install", "--quiet", "--no-deps", "--target", str(place), _TOOL]
        subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    sys.path.append(str(place))
    from universalmutator.mutator import (  # type: ignore[import-not-found]
        mutants_regexp,
    )

    def operators(name: str, text: str) -> dict[int, list[str]]:
        found = defaultdict(list)
        with contextlib.redirect_stdout(io.StringIO()):
            made = mutants_regexp(
                text.splitlines(keepends=True),
                list(_RULES[Path(name).suffix]),
                ignorePatterns=[],
                ignoreStringOnly=True,
            )
        for line, instead, *_ in made:
            found[line].append(instead)
        return found

    return operators

"""What comes of a database in which one file is damaged: answers are right, or there is an error.

The database is one that a script closed, or one that was open, as a crash would leave it. For each
damage it is verified as `cdb verify` does, and then everything is asked: all names at once, each
alone, and every block. Only an error that says damage counts as one: see DAMAGE. There are these
outcomes:

    detected    verify finds the damage, and no answer is wrong
    refused     verify is silent, and what is asked fails
    harmless    verify is silent, and every answer is right: the bytes are nobody's
    served      an answer is wrong; so is that there is no database

What is served breaks the promise. So does damage that verify overlooks in a closed database's files
of which the subject says that all is checksummed. What is served is called "unseen" where verify is
silent, too. Undamaged, the same database must pass without a word: whoever can't open it here has
detected nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path
from random import Random

from cdb.contents.state import verify
from cdb.contract.coins import bytes32
from cdb.contract.limits import Finding
from cdb.contract.schema import Schema
from cdb.disk.home import schema_at
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseNotFoundError,
    InvariantError,
    UnknownSchemaError,
    WrongDatabaseError,
)
from cdb.schemas import SchemaInfo, find_schema
from cdb.schemas.memory import MemorySchema
from cdb.testing.faults.crash_states import Tree, read_tree, write_tree
from cdb.testing.faults.damage import Way
from cdb.testing.faults.oracle import BrokenPromiseError, Case, error_text
from cdb.testing.faults.script import small_script_of
from cdb.testing.faults.script_run import run
from cdb.testing.faults.steps import Accept, Close, apply
from cdb.testing.faults.subjects import subject_of
from cdb.testing.faults.trial import DATABASE, new_directory

POINTS = 40
DAMAGE = (CorruptDatabaseError, InvariantError, WrongDatabaseError)
"""What says that there is damage; the last one where it is in what says whose the database is."""

Question = Callable[[Schema], Iterable[object]]


@dataclass(frozen=True)
class Point:
    """One damage to one file of the database as it was after a step.

    is_live: whether the step closed it, and what is changed are not just zeros at the file's end.
    tree: what is there then.
    """

    step: int
    file: str
    place: str
    is_live: bool
    tree: Tree

    def __str__(self) -> str:
        return f"{self.step}:{self.file}:{self.place}"


@dataclass(frozen=True)
class Verdict:
    """What came of one damage.

    served: the first question that was answered wrong. is_overlooked: verify should have found it.
    """

    point: Point
    is_detected: bool
    is_refused: bool
    served: str | None
    is_overlooked: bool

    @property
    def outcome(self) -> str:
        """One word for it."""
        if self.served is not None:
            return "served" if self.is_detected else "unseen"
        if self.is_detected:
            return "detected"
        return "refused" if self.is_refused else "harmless"

    @property
    def problem(self) -> str | None:
        """The promise that is broken, for people; None when none is."""
        if self.served is not None:
            verify = "finds it" if self.is_detected else "is silent"
            damage = f"{self.point.file}, {self.point.place}"
            return f"damage is served: {damage}, asked for {self.served}; verify {verify}"
        if self.is_overlooked:
            return f"damage is overlooked: {self.point.file}, {self.point.place}"
        return None

    @property
    def finding(self) -> Finding:
        """The same for limits."""
        outcome = "overlooked" if self.served is None else self.outcome
        return Finding(outcome, self.point.file, self.point.place)


class Rotting:
    """The database of a seed's script, as it was after each step that promised something."""

    def __init__(self, spec: str, seed: int, directory: Path) -> None:
        self._spec = spec
        self._seed = seed
        self._info = find_schema(spec)
        self._place = directory / "damaged"
        whole = new_directory(directory / "whole")
        self._trees = _trees(self._info, seed, whole)
        steps = enumerate(small_script_of(seed).steps, 1)
        self._closed = {number for number, step in steps if isinstance(step, Close)}
        self._verified = _as_verified(self._info, whole / DATABASE)

    def points(self, trial: str, way: Way) -> Iterator[Point]:
        """What the seed chooses to damage. Every other database, about, is the closed one."""
        *_, last = steps = list(self._trees)
        for number in range(POINTS):
            random = Random(f"{self._seed} {trial} {number}")  # noqa: S311 - reproducible, not secret
            step = random.choice((last, random.choice(steps)))
            tree = self._trees[step]
            earlier = {at: self._trees[at] for at in steps if at < step}
            file, whole = random.choice([(name, each) for name, each in tree.items() if each])
            former = {at: contents for at, each in earlier.items() if (contents := each.get(file))}
            damaged = way.damage(whole, former, random)
            if damaged is None:
                continue
            live = whole.rstrip(b"\0")
            is_live = step in self._closed and not damaged.contents.startswith(live)
            changed = tree | {file: damaged.contents}
            # Nothing could tell a whole database that is put back from one that went no further.
            if changed not in earlier.values():
                yield Point(step, file, damaged.place, is_live, changed)

    def check_undamaged(self, trial: str, point: Point) -> None:
        """Whether the database that the point damages gives right answers as it was.

        Raises BrokenPromiseError.
        """
        case = Case(trial, self._spec, self._seed, str(point))
        path = self._place / DATABASE
        for read_only in (True, False):
            write_tree(self._trees[point.step], new_directory(self._place))
            try:
                # First a reader: it finds what verify finds, and changes nothing.
                found = read_only and _is_detected(self._verified, path)
                is_refused, served = self._ask(path, point.step, read_only=read_only)
            except Exception as error:
                problem = f"undamaged, it gives {error_text(error)}"
                raise BrokenPromiseError(case, problem) from error
            if found or is_refused:
                raise BrokenPromiseError(case, "undamaged, it is called damaged")
            if served is not None:
                raise BrokenPromiseError(case, f"undamaged, it answers wrong: {served}")

    def judge(self, trial: str, point: Point) -> Verdict:
        """Verify, and ask everything. Raises BrokenPromiseError for an error that misleads."""
        write_tree(point.tree, new_directory(self._place))
        path = self._place / DATABASE
        # One that may write reads more, and mends what crashes leave.
        read_only = Random(str(point)).random() < 0.5  # noqa: S311 - reproducible, not secret
        try:
            is_detected = _is_detected(self._verified, path)
            is_refused, served = self._ask(path, point.step, read_only=read_only)
        except Exception as error:
            problem = f"damage gives {error_text(error)}"
            case = Case(trial, self._spec, self._seed, str(point))
            raise BrokenPromiseError(case, problem) from error
        checksummed = re.fullmatch(subject_of(self._spec).checksummed, point.file) is not None
        is_overlooked = point.is_live and checksummed and not is_detected
        return Verdict(point, is_detected, is_refused, served, is_overlooked)

    def _ask(self, path: Path, step: int, *, read_only: bool) -> tuple[bool, str | None]:
        """Whether an answer is refused, and the first question that is answered wrong."""
        is_refused, served = False, None
        try:
            with self._info.open(path, read_only=read_only) as schema:
                for what, right in _right_answers(self._seed, step).items():
                    try:
                        answers = _questions(self._seed)[what](schema)
                        if any(one != other for one, other in zip_longest(answers, right)):
                            served = served or what
                    except DAMAGE:
                        is_refused = True
                    except DatabaseClosedError:  # for good, once it has met damage
                        if not is_refused:
                            raise
        except DAMAGE:
            is_refused = True
        except DatabaseNotFoundError:
            served = "whether it is there"
        return is_refused, served


def _trees(info: SchemaInfo, seed: int, directory: Path) -> dict[int, Tree]:
    """What is on the disk after each step that promised something; the last one closed it."""
    trees = {}

    def tell(word: str, step: int) -> None:
        if word == "kept":
            trees[step] = _read_at_rest(directory)

    run(small_script_of(seed), 0, lambda: info.open(directory / DATABASE), tell)
    return trees


def _read_at_rest(directory: Path) -> Tree:
    """The files at one moment: other threads of the schema may be at work still."""
    while True:
        with suppress(FileNotFoundError):
            tree = read_tree(directory)
            if tree == read_tree(directory):
                return tree


def _as_verified(info: SchemaInfo, path: Path) -> SchemaInfo:
    """The schema by whose name `cdb verify` checks a database: a variant writes another's."""
    named = schema_at(path) if info.spec.check is None else None
    if named is not None:
        with suppress(UnknownSchemaError):
            return find_schema(named[0])
    return info


def _is_detected(info: SchemaInfo, path: Path) -> bool:
    try:
        if info.spec.check is not None and any(
            True for _ in info.spec.check(path, lambda coins: None)
        ):
            return True
        with info.open(path, read_only=True) as schema:
            verify(schema)
    except (*DAMAGE, DatabaseNotFoundError):
        return True
    return False


@cache
def _questions(seed: int) -> Mapping[str, Question]:
    """All that is asked, in words, and how; also for what was rewound, and never was."""
    blocks = [step.block for step in small_script_of(seed).steps if isinstance(step, Accept)]
    names = [coin.name() for block in blocks for coin in block.confirms]
    newest = max(block.index for block in blocks)
    return {
        "all names": lambda schema: schema.coin_infos_for_coin_names(names),
        **{f"name {name.hex()}": partial(_coin, name=name) for name in names},
        **{f"block {index}": partial(_block, index=index) for index in range(newest + 2)},
        "the newest index": lambda schema: [schema.last_block_index],
        "all blocks": lambda schema: schema.blocks(),
    }


def _coin(schema: Schema, name: bytes32) -> Iterable[object]:
    return schema.coin_infos_for_coin_names([name])


def _block(schema: Schema, index: int) -> Iterable[object]:
    return [schema.block_info_for_block_index(index)]


@cache
def _right_answers(seed: int, step: int) -> Mapping[str, list[object]]:
    model = MemorySchema()
    for each in small_script_of(seed).steps[:step]:
        apply(model, each)
    return {what: list(ask(model)) for what, ask in _questions(seed).items()}

"""Asks a database for coins, and holds every answer against the truth."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, cast

from cdb.bench.questions import Questions, names_of
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.packed import PackedBlocks
from cdb.lab.process import WrongAnswerError
from cdb.schemas import HistoryPacked, HistorySchema, ReadsPacked, Schema, offer_of

BATCH_NAMES = 1_000


class Lookups(Protocol):
    """A way to ask for coins: ask(*arguments(questions)) is what is measured."""

    form: str
    ask: Callable[..., Any]

    def arguments(self, questions: Questions) -> tuple[Any, ...]:
        """The questions in the form that ask() takes."""

    def is_right(self, questions: Questions, answer: Any) -> bool:
        """Whether every coin was found as it is, and nothing that is none."""


class ObjectLookups:
    """Lookups by coin_infos_for_coin_names: what every schema has."""

    form = "objects"

    def __init__(self, schema: Schema) -> None:
        self.ask: Callable[..., Any] = schema.coin_infos_for_coin_names

    def arguments(self, questions: Questions) -> tuple[Any, ...]:
        """See Lookups."""
        return (names_of(questions.names),)

    def is_right(self, questions: Questions, answer: list[CoinInfo]) -> bool:
        """See Lookups."""
        return answer == questions.answers()


class PackedLookups:
    """Lookups by coin_infos_packed, without an object a coin."""

    form = "packed"

    def __init__(self, schema: ReadsPacked) -> None:
        self.ask: Callable[..., Any] = schema.coin_infos_packed

    def arguments(self, questions: Questions) -> tuple[Any, ...]:
        """See Lookups."""
        return (questions.names,)

    def is_right(self, questions: Questions, answer: tuple[bytes, bytes]) -> bool:
        """See Lookups."""
        return answer[0] == questions.infos and answer[1] == questions.found


class ObjectLookupsAsOf(ObjectLookups):
    """Lookups by coin_infos_as_of."""

    def __init__(self, history: HistorySchema) -> None:
        self.ask = history.coin_infos_as_of

    def arguments(self, questions: Questions) -> tuple[Any, ...]:
        """See Lookups."""
        return (names_of(questions.names), questions.height)


class PackedLookupsAsOf(PackedLookups):
    """Lookups by coin_infos_as_of_packed."""

    def __init__(self, history: HistoryPacked) -> None:
        self.ask = history.coin_infos_as_of_packed

    def arguments(self, questions: Questions) -> tuple[Any, ...]:
        """See Lookups."""
        return (questions.names, questions.height)


def fastest_lookups(schema: Schema) -> Lookups:
    """Packed ones if the schema has them."""
    packed = offer_of(schema).reads_packed
    return ObjectLookups(schema) if packed is None else PackedLookups(packed)


def fastest_lookups_as_of(history: HistorySchema) -> Lookups:
    """The same as of a height."""
    if callable(getattr(history, "coin_infos_as_of_packed", None)):
        return PackedLookupsAsOf(cast(HistoryPacked, history))
    return ObjectLookupsAsOf(history)


def check_right(lookups: Lookups, questions: Questions, answer: Any) -> None:
    """Raise WrongAnswerError unless this is the answer."""
    if not lookups.is_right(questions, answer):
        is_any = any(questions.found)
        problem = "gave a wrong answer" if is_any else "found a coin that does not exist"
        when = "" if questions.height is None else f" as of height {questions.height}"
        raise WrongAnswerError(f"a lookup{when} {problem}")


def check_questions(schema: Schema, questions: Questions, as_of: int | None = None) -> None:
    """Raise WrongAnswerError unless the database answers them all.

    as_of: the index of its newest block, if it doesn't hold the whole replay.
    """
    for at in range(0, len(questions), BATCH_NAMES):
        part = questions.part(at, at + BATCH_NAMES)
        right = part if as_of is None else part.as_of(as_of)
        if schema.coin_infos_for_coin_names(names_of(part.names)) != right.answers():
            raise WrongAnswerError("a lookup gave a wrong answer")


def check_newest(schema: Schema, index: int) -> None:
    """Raise WrongAnswerError unless this is the newest block."""
    if schema.last_block_index != index:
        problem = f"the newest block is {schema.last_block_index}, not {index}"
        raise WrongAnswerError(problem)


def check_there(schema: Schema, packs: Iterable[PackedBlocks]) -> None:
    """Raise WrongAnswerError unless the coins of these blocks exist and their spends are spent."""
    for packed in packs:
        found = schema.coin_infos_for_coin_names(names_of(bytes(packed.names)))
        spent = schema.coin_infos_for_coin_names(names_of(bytes(packed.spends)))
        if [info.coin.name() for info in found] != names_of(bytes(packed.names)):
            raise WrongAnswerError("a coin of an accepted block is missing")
        if len(spent) != packed.n_spends or not all(info.spent_index for info in spent):
            raise WrongAnswerError("a spend of an accepted block is missing")


def check_gone(schema: Schema, packs: Iterable[PackedBlocks]) -> None:
    """Raise WrongAnswerError unless what these blocks, the newest, did is undone."""
    made: set[bytes32] = set()
    for packed in packs:
        names, spends = names_of(bytes(packed.names)), names_of(bytes(packed.spends))
        made.update(names)
        if schema.coin_infos_for_coin_names(names):
            raise WrongAnswerError("a rewind left a coin")
        older = [name for name in spends if name not in made]
        infos = schema.coin_infos_for_coin_names(older)
        if any(info.spent_index for info in infos):
            raise WrongAnswerError("a rewind left a spend")
        if len(infos) != len(older):
            raise WrongAnswerError("a rewind took a coin too many")

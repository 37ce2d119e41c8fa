"""Asks a database for coins, and holds every answer against the truth."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from cdb.bench.questions import Questions, names_of
from cdb.coins import CoinInfo, bytes32
from cdb.lab.process import WrongAnswerError
from cdb.packed import PackedBlocks
from cdb.schemas import ReadsPacked, Schema, offer_of

BATCH_NAMES = 1_000


class Lookups(Protocol):
    """A way to ask for coins: ask(question(names)) is what is measured."""

    form: str
    ask: Callable[[Any], Any]

    def question(self, names: bytes) -> Any:
        """Names without gaps, in the form that ask() takes."""

    def is_right(self, questions: Questions, answer: Any) -> bool:
        """Whether every coin was found as it is, and nothing that is none."""


class ObjectLookups:
    """Lookups by coin_infos_for_coin_names: what every schema has."""

    form = "objects"

    def __init__(self, schema: Schema) -> None:
        self.ask: Callable[[Any], Any] = schema.coin_infos_for_coin_names

    def question(self, names: bytes) -> list[bytes32]:
        """See Lookups."""
        return names_of(names)

    def is_right(self, questions: Questions, answer: list[CoinInfo]) -> bool:
        """See Lookups."""
        return answer == questions.answers()


class PackedLookups:
    """Lookups by coin_infos_packed, without an object a coin."""

    form = "packed"

    def __init__(self, schema: ReadsPacked) -> None:
        self.ask: Callable[[Any], Any] = schema.coin_infos_packed

    def question(self, names: bytes) -> bytes:
        """See Lookups."""
        return names

    def is_right(self, questions: Questions, answer: tuple[bytes, bytes]) -> bool:
        """See Lookups."""
        infos, found = answer
        if not questions.infos:
            return not any(found) and len(found) == len(questions)
        return infos == questions.infos and found == b"\1" * len(questions)


def fastest_lookups(schema: Schema) -> Lookups:
    """Packed ones if the schema has them."""
    packed = offer_of(schema).reads_packed
    return ObjectLookups(schema) if packed is None else PackedLookups(packed)


def check_right(lookups: Lookups, questions: Questions, answer: Any) -> None:
    """Raise WrongAnswerError unless this is the answer."""
    if not lookups.is_right(questions, answer):
        problem = "gave a wrong answer" if questions.infos else "found a coin that does not exist"
        raise WrongAnswerError(f"a lookup {problem}")


def check_questions(schema: Schema, questions: Questions, as_of: int | None = None) -> None:
    """Raise WrongAnswerError unless the database answers them all.

    as_of: the index of its newest block, if it doesn't hold the whole replay.
    """
    for at in range(0, len(questions), BATCH_NAMES):
        part = questions.part(at, at + BATCH_NAMES)
        if schema.coin_infos_for_coin_names(names_of(part.names)) != part.answers(as_of):
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

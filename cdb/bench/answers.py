"""Asks a database for coins, and holds every answer against the truth."""

from collections.abc import Callable
from struct import iter_unpack
from typing import Any, Protocol

from cdb.bench.process import WorkloadError
from cdb.bench.truth import Questions
from cdb.coins import NAME_BYTES, Coin, CoinInfo, bytes32
from cdb.engines.packed_lookups import INFO_FORMAT
from cdb.packed import PackedBlocks
from cdb.schemas import Schema

BATCH_NAMES = 1_000


class WrongAnswerError(WorkloadError):
    """A database does not answer what its replay says."""


class Lookups(Protocol):
    """A way to ask for coins: ask(question(names)) is what is measured."""

    is_packed: bool
    ask: Callable[[Any], Any]

    def question(self, names: bytes) -> Any:
        """Names without gaps, in the form that ask() takes."""

    def check(self, questions: Questions, answer: Any) -> None:
        """Raise WrongAnswerError unless every coin was found as it is."""

    def check_absent(self, names: bytes, answer: Any) -> None:
        """Raise WrongAnswerError if anything was found."""


class ObjectLookups:
    """Lookups by coin_infos_for_coin_names: what every schema has."""

    is_packed = False

    def __init__(self, schema: Schema) -> None:
        self.ask: Callable[[Any], Any] = schema.coin_infos_for_coin_names

    def question(self, names: bytes) -> list[bytes32]:
        """See Lookups."""
        return names_of(names)

    def check(self, questions: Questions, answer: list[CoinInfo]) -> None:
        """See Lookups."""
        if answer != infos_of(questions.infos):
            raise WrongAnswerError("a lookup gave a wrong answer")

    def check_absent(self, names: bytes, answer: list[CoinInfo]) -> None:
        """See Lookups."""
        if answer:
            raise WrongAnswerError("a lookup found a coin that does not exist")


class PackedLookups:
    """Lookups by coin_infos_packed, without an object a coin."""

    is_packed = True

    def __init__(self, ask: Callable[[Any], Any]) -> None:
        self.ask = ask

    def question(self, names: bytes) -> bytes:
        """See Lookups."""
        return names

    def check(self, questions: Questions, answer: tuple[bytes, bytes]) -> None:
        """See Lookups."""
        infos, found = answer
        if infos != questions.infos or found != b"\1" * len(questions):
            raise WrongAnswerError("a lookup gave a wrong answer")

    def check_absent(self, names: bytes, answer: tuple[bytes, bytes]) -> None:
        """See Lookups."""
        if answer[1] != bytes(len(names) // NAME_BYTES):
            raise WrongAnswerError("a lookup found a coin that does not exist")


def fastest_lookups(schema: Schema) -> Lookups:
    """Packed ones if the schema has them."""
    packed = getattr(schema, "coin_infos_packed", None)
    return ObjectLookups(schema) if packed is None else PackedLookups(packed)


def check_questions(schema: Schema, questions: Questions) -> None:
    """Raise WrongAnswerError unless the database answers them all."""
    lookups = ObjectLookups(schema)
    for at in range(0, len(questions), BATCH_NAMES):
        part = questions.part(at, at + BATCH_NAMES)
        lookups.check(part, lookups.ask(lookups.question(part.names)))


def check_newest(schema: Schema, index: int) -> None:
    """Raise WrongAnswerError unless this is the newest block."""
    if schema.last_block_index != index:
        problem = f"the newest block is {schema.last_block_index}, not {index}"
        raise WrongAnswerError(problem)


def check_there(schema: Schema, packs: list[PackedBlocks]) -> None:
    """Raise WrongAnswerError unless the coins of these blocks exist and their spends are spent."""
    for packed in packs:
        found = schema.coin_infos_for_coin_names(names_of(bytes(packed.names)))
        spent = schema.coin_infos_for_coin_names(names_of(bytes(packed.spends)))
        if [info.coin.name() for info in found] != names_of(bytes(packed.names)):
            raise WrongAnswerError("a coin of an accepted block is missing")
        if len(spent) != packed.n_spends or not all(info.spent_index for info in spent):
            raise WrongAnswerError("a spend of an accepted block is missing")


def check_gone(schema: Schema, packs: list[PackedBlocks]) -> None:
    """Raise WrongAnswerError unless what these blocks did is undone."""
    for packed in packs:
        if schema.coin_infos_for_coin_names(names_of(bytes(packed.names))):
            raise WrongAnswerError("a rewind left a coin")
        spent = schema.coin_infos_for_coin_names(names_of(bytes(packed.spends)))
        if any(info.spent_index for info in spent):
            raise WrongAnswerError("a rewind left a spend")
    made = {name for packed in packs for name in names_of(bytes(packed.names))}
    spends = [name for packed in packs for name in names_of(bytes(packed.spends))]
    older = [name for name in spends if name not in made]
    if len(schema.coin_infos_for_coin_names(older)) != len(older):
        raise WrongAnswerError("a rewind took a coin too many")


def names_of(packed_names: bytes) -> list[bytes32]:
    """Names without gaps, one by one."""
    places = range(0, len(packed_names), NAME_BYTES)
    return [bytes32(packed_names[at : at + NAME_BYTES]) for at in places]


def infos_of(packed_infos: bytes) -> list[CoinInfo]:
    """Packed infos as objects."""
    return [
        CoinInfo(Coin(bytes32(parent), bytes32(puzzle_hash), amount), confirmed, spent)
        for parent, puzzle_hash, amount, confirmed, spent in iter_unpack(INFO_FORMAT, packed_infos)
    ]

"""A schema in a process of its own, which can be killed, or be told to do anything there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter, methodcaller
from os import PathLike
from typing import Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar

from cdb.contents.loader import accept
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.packed import PackedBlocks
from cdb.contract.schema import Schema
from cdb.process.children import Pipe
from cdb.schemas import find_schema
from cdb.testing.faults.shim import SERVER
from cdb.testing.faults.trial import LONGEST_SECONDS
from cdb.testing.side_by_side import SideBySide, settle

P = ParamSpec("P")
T = TypeVar("T")


class RemoteSchema:
    """Opens a database in a new process; see cdb.schemas.Schema. blocks() gives a list.

    One thread calls at a time. Raises what the schema there raises, DiedError, and
    SilentError when it hangs.
    """

    def __init__(self, spec: str, path: str | PathLike[str], *, read_only: bool = False) -> None:
        self._child = SERVER.start(_serve, spec, str(path), read_only)
        self._is_open = True
        try:
            self._answer()
        except BaseException:
            self.kill()
            raise

    @property
    def last_block_index(self) -> int | None:
        """See Schema."""
        index: int | None = self.do(attrgetter("last_block_index"))
        return index

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        self.do(methodcaller("accept_block", block_spend_info))

    def accept_packed(self, packed: PackedBlocks) -> None:
        """See cdb.contents.loader.accept."""
        self.do(accept, packed)

    def flush(self) -> None:
        """See Schema."""
        self.do(methodcaller("flush"))

    def settle(self) -> None:
        """See cdb.testing.side_by_side.settle."""
        self.do(settle)

    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        """See Schema."""
        infos: list[CoinInfo] = self.do(methodcaller("coin_infos_for_coin_names", coin_names))
        return infos

    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        """See Schema."""
        block: BlockSpendInfo | None
        block = self.do(methodcaller("block_info_for_block_index", block_index))
        return block

    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""
        self.do(methodcaller("rewind_to_block_index", block_index))

    def blocks(self) -> list[BlockSpendInfo]:
        """See Schema."""
        return self.do(_blocks)

    def close(self) -> None:
        """Close the database, and end the process. A second call does nothing."""
        if self._is_open:
            try:
                self.do(methodcaller("close"))
            finally:
                self.kill()

    def kill(self) -> None:
        """SIGKILL."""
        self._is_open = False
        self._child.kill()

    def do(
        self, function: Callable[Concatenate[Schema, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function with the schema there: any that another process can import."""
        self._child.pipe.send((function, args, kwargs))
        answer: T = self._answer()
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _answer(self) -> Any:
        answer = self._child.receive(LONGEST_SECONDS)
        if isinstance(answer, _Raised):
            raise answer.error()
        return answer


@contextmanager
def remotely(
    spec: str, path: str | PathLike[str]
) -> Iterator[tuple[SideBySide, list[RemoteSchema]]]:
    """A schema in a process of its own beside the model, and its openings, the newest last."""
    opened: list[RemoteSchema] = []

    def open_schema() -> RemoteSchema:
        opened.append(RemoteSchema(spec, path))
        return opened[-1]

    try:
        yield SideBySide(open_schema), opened
    finally:
        for schema in opened[-1:]:
            schema.kill()


class _Raised(NamedTuple):
    """An error on its way: the class's own arguments may be others than its message."""

    kind: type[Exception]
    args: tuple[Any, ...]
    attributes: dict[str, Any]

    def error(self) -> Exception:
        error = self.kind.__new__(self.kind, *self.args)
        error.__dict__.update(self.attributes)
        return error


def _serve(pipe: "Pipe[Any, Any]", spec: str, path: str, read_only: bool) -> None:
    def answer(give: Callable[[], Any]) -> None:
        try:
            pipe.send(give())
        except Exception as error:
            pipe.send(_Raised(type(error), error.args, vars(error)))

    schema: Schema

    def open_it() -> None:
        nonlocal schema
        schema = find_schema(spec).open(path, read_only=read_only)

    answer(open_it)
    while True:
        try:
            function, args, kwargs = pipe.recv()
        except EOFError:  # whoever asked has ended
            return
        answer(lambda: function(schema, *args, **kwargs))  # noqa: B023 - it is called at once


def _blocks(schema: Schema) -> list[BlockSpendInfo]:
    return list(schema.blocks())

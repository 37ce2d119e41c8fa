"""Refusals that come later than the call: of a backend that accepts some blocks on trust."""

from collections.abc import Callable
from threading import local
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from cdb.contract.packed import PackedBlocks
from cdb.disk.sharing import reading
from cdb.errors import BlockError
from cdb.extensions.native import UnverifiedError
from cdb.front.backend import DeferringBackend
from cdb.front.store import Store

P = ParamSpec("P")
T = TypeVar("T")

_here = local()
"""What tells threads apart: numbers of those that have ended are given to others."""
_WAIT_MILLISECONDS = 100
"""For a writer to verify something. It does so at the end of its call, which may take longer."""


class LateRefusals(Store):
    """Verifies what its backend has put off, before anything is read, flushed or rewound. Flushes
    in two steps, too.

    A refusal is told to the writer: at its next call, or accept that makes room or refuses another
    block. Reads in other threads than that of accept_packed() go on without the block.
    """

    _backend: DeferringBackend

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._owed: BlockError | ValueError | None = None  # what the writer has to be told
        self._writer = object()  # what the thread of the last accept_packed has in _here

    @reading
    def begin_flush(self) -> None:
        """See FlushesBeside."""
        self._commit_beside(self._backend.begin_commit)

    @reading
    def end_flush(self) -> None:
        """See FlushesBeside."""
        self._commit_beside(self._backend.end_commit)

    def _commit_beside(self, step: Callable[[], PackedBlocks | None]) -> None:
        self._tell_owed()
        if not self.read_only:
            with self.guard.write():
                self._owe_refusal(step())
            self._tell_owed()

    def _accept(self, blocks: PackedBlocks, *, may_defer: bool) -> None:
        if may_defer:
            if not hasattr(_here, "writer"):
                _here.writer = object()
            self._writer = _here.writer
        self._tell_owed()
        with self.guard.write():
            self._owe_refusal(self._backend.accept(blocks, may_defer=may_defer))
        self._tell_owed()

    def _verify(self) -> None:
        """Verify what accept_packed has put off. Raises the refusal that the writer is owed."""
        if not self._backend.is_verified:
            with self.guard.write():
                self._owe_refusal(self._backend.verify_spends())
        self._tell_owed()

    def _read(self, read: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        has_more_to_tell = self._owed is not None or not self._backend.is_verified
        if has_more_to_tell and self._writer is getattr(_here, "writer", None):
            with self.mutex:
                self._verify()
        return self._read_verified(read, *arguments, **options)

    def _read_verified(self, read: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        while True:
            try:
                return read(*arguments, **options)
            except UnverifiedError:
                # Who writes verifies it at the end of the call; where nobody does, it is done here.
                if not self._backend.await_verified(_WAIT_MILLISECONDS):
                    with self.mutex:
                        self._backend.verify()

    def _owe_refusal(self, refused: PackedBlocks | None) -> None:
        """Have the writer be told of a block. What cuts this short is a write that has failed."""
        if refused is not None:
            self._owed = self._refusal_of(refused.block(0))  # fault: late-refusal-swallowed

    def _tell_owed(self) -> None:
        """Raise the refusal that is owed to the writer, if there is one."""
        owed, self._owed = self._owed, None
        if owed is not None:
            raise owed


if TYPE_CHECKING:
    from cdb.contract.schema import FlushesBeside

    _flushes: type[FlushesBeside] = LateRefusals

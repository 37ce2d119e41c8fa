"""Twins of the good small store that handle damage without care: the fuzzer's own test."""

import os

from cdb.errors import CorruptDatabaseError
from tests.faults.broken import Good


class Careless(Good):
    """Does something else where it should say that there is damage."""

    def _load(self) -> None:
        try:
            super()._load()
        except CorruptDatabaseError:
            self._mishandle()

    def _mishandle(self) -> None:
        raise IndexError("out of range")


class Dies(Careless):
    """Takes its process along."""

    def _mishandle(self) -> None:
        os.abort()


class Spins(Careless):
    """Goes on for ever."""

    def _mishandle(self) -> None:
        while True:
            pass


class Swells(Careless):
    """Believes any size."""

    def _mishandle(self) -> None:
        bytearray(1 << 40)

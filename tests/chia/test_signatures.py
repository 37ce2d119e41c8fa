"""Which chia is taken: one all of whose calls are answered. No chia is needed here."""

from collections.abc import AsyncIterator

import pytest

from cdb.chia.signatures import check_signatures, default_of
from cdb.errors import UnsupportedError


class Ours:
    async def by_parents(self, parents: list[bytes], *, max_items: int = 9) -> None: ...
    async def newer(self) -> None: ...


class Older:
    async def by_parents(self, parents: list[bytes]) -> None: ...


class AnotherDefault:
    async def by_parents(self, parents: list[bytes], *, max_items: int = 8) -> None: ...


class AnotherName:
    async def by_parents(self, parent_ids: list[bytes]) -> None: ...


class More:
    async def by_parents(
        self, parents: list[bytes], *, max_items: int = 9, first: int = 0
    ) -> None: ...


class Fewer:
    async def by_parents(self) -> None: ...


class Other:
    async def by_hints(self) -> None: ...


class Synchronous:
    def by_parents(self, parents: list[bytes], *, max_items: int = 9) -> None: ...


class Iterated:
    async def newer(self) -> AsyncIterator[int]:
        yield 1


@pytest.mark.parametrize("theirs", [Ours, Older])
def test_a_chia_whose_calls_are_answered_is_taken(theirs: type) -> None:
    check_signatures(theirs, Ours)


@pytest.mark.parametrize(
    "theirs", [AnotherDefault, AnotherName, More, Fewer, Other, Synchronous, Iterated]
)
def test_one_that_makes_other_calls_is_refused_by_their_names(theirs: type) -> None:
    [name] = [each for each in vars(theirs) if not each.startswith("_")]
    with pytest.raises(UnsupportedError, match=rf"\({name}\)"):
        check_signatures(theirs, Ours)


def test_what_an_older_one_does_not_know_has_no_limit() -> None:
    assert default_of(Ours.by_parents, "max_items", -1) == 9
    assert default_of(Older.by_parents, "max_items", -1) == -1

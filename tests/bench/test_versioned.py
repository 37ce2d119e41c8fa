"""Layouts below the coin set: every answer is right, and reads as they were published are not."""

from pathlib import Path

import pytest

from cdb.bench.versioned.database import (
    AS_PUBLISHED,
    LAYOUTS,
    NATIVE_ENGINES,
    Checked,
    Shape,
    Versioned,
    missing,
)

SHAPE = Shape(keys=300, versions=9, value_bytes=100, period_bytes=0, rewritten_per_million=300_000)
MIDDLE = 5


@pytest.fixture(params=NATIVE_ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Each that is here."""
    name: str = request.param
    problem = missing(name)
    if problem is not None:
        pytest.skip(problem)
    return name


def written(
    engine: str, path: Path, layout: str, shape: Shape = SHAPE, without: int = 0
) -> Versioned:
    """All versions but one, closed and opened again."""
    with Versioned(engine, path, layout, shape, create=True) as database:
        for version in range(1, shape.versions + 1):
            assert database.prepare(version) > 0
            if version != without:
                database.commit()
    return Versioned(engine, path, layout, shape, create=False)


def got(
    database: Versioned, as_of: int, keys: int = SHAPE.keys, *, absent: bool = False
) -> Checked:
    """All keys, or as many absent ones, in batches that are cut anywhere."""
    answers = []
    for first in range(0, keys, 70):
        database.draw(first, min(70, keys - first), are_absent=absent)
        database.get(as_of)
        answers.append(database.check())
    right, wrong = (sum(getattr(each, name) for each in answers) for name in ("right", "wrong"))
    first_wrong = next((each for each in answers if each.wrong), answers[0])
    return first_wrong._replace(right=right, wrong=wrong)


def scanned(database: Versioned, as_of: int) -> Checked:
    database.scan(as_of)
    while database.next(70):
        database.check()
    return database.check()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "shape",
    [
        SHAPE,
        SHAPE._replace(rewritten_per_million=1_000_000, versions=3),
        SHAPE._replace(keys=50, value_bytes=9_000, period_bytes=32),
        SHAPE._replace(keys=1_100, value_bytes=1, versions=4),
    ],
    ids=["some", "all", "large", "many"],
)
def test_every_answer_of_a_layout_is_right(
    engine: str, layout: str, shape: Shape, tmp_path: Path
) -> None:
    with written(engine, tmp_path, layout, shape) as database:
        for settled in (False, True):
            if settled:
                database.settle()
            for as_of in range(shape.versions + 2):
                assert got(database, as_of, shape.keys)[:2] == (shape.keys, 0)
                assert got(database, as_of, shape.keys, absent=True)[:2] == (shape.keys, 0)
                expected = shape.keys if as_of else database.count()
                assert scanned(database, as_of)[:2] == (expected, 0)


@pytest.mark.parametrize("layout", ["mono_space", "dual_timeline"])
def test_a_seek_to_the_wrong_side_is_seen(engine: str, layout: str, tmp_path: Path) -> None:
    with written(engine, tmp_path, layout + AS_PUBLISHED) as database:
        found = got(database, MIDDLE)
        assert found.right == 0
        assert found.wrong == SHAPE.keys
        assert found.found_version == 0 or found.found_version > MIDDLE
        assert found.first_wrong.startswith(f"key {found.key} gives ")


def test_a_delta_taken_for_a_state_is_seen(engine: str, tmp_path: Path) -> None:
    with written(engine, tmp_path, "option_1" + AS_PUBLISHED) as database:
        n_rewritten = database.prepare(MIDDLE)
        assert 0 < n_rewritten < SHAPE.keys
        assert got(database, MIDDLE)[:2] == (n_rewritten, SHAPE.keys - n_rewritten)
        # Rows that are missing are no wrong ones: who asks knows how many there have to be.
        assert scanned(database, MIDDLE)[:2] == (n_rewritten, 0)


def test_a_neighbour_taken_for_an_absent_key_is_seen(engine: str, tmp_path: Path) -> None:
    with written(engine, tmp_path, "issue_196" + AS_PUBLISHED) as database:
        assert got(database, MIDDLE)[:2] == (SHAPE.keys, 0)
        found = got(database, MIDDLE, absent=True)
        assert found.wrong > SHAPE.keys * 9 // 10
        assert found.first_wrong.startswith("a key that is not there gives ")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_version_that_is_lost_is_seen(engine: str, layout: str, tmp_path: Path) -> None:
    with written(engine, tmp_path, layout, without=MIDDLE) as database:
        lost = database.prepare(MIDDLE)
        assert got(database, MIDDLE).wrong == lost
        assert scanned(database, MIDDLE).wrong == lost
        assert scanned(database, 0)[:2] == (database.count() - lost, 0)
        assert got(database, MIDDLE - 1).wrong == 0


def test_a_row_that_comes_twice_is_seen(engine: str, tmp_path: Path) -> None:
    with written(engine, tmp_path, "mono_space") as database:
        for as_of in (SHAPE.versions, 0):
            database.scan(as_of)
            assert database.next(70) == 70
            assert database.check()[:2] == (70, 0)
            again = database.check()
            assert again[:2] == (70, 70)
            assert again.first_wrong.endswith(" comes twice")


def test_the_same_numbers_make_the_same_and_others_do_not(engine: str, tmp_path: Path) -> None:
    with written(engine, tmp_path, "mono_space") as database:
        count = database.count()
    for changed in (SHAPE._replace(seed=2), SHAPE._replace(period_bytes=32)):
        with Versioned(engine, tmp_path, "mono_space", changed, create=False) as database:
            assert scanned(database, SHAPE.versions).right == 0
    with Versioned(engine, tmp_path, "mono_space", SHAPE, create=False) as database:
        assert scanned(database, 0)[:2] == (count, 0)


def test_an_unknown_layout_is_an_error(engine: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no layout interval"):
        Versioned(engine, tmp_path, "interval", SHAPE, create=True)


def test_a_share_is_rewritten(engine: str, tmp_path: Path) -> None:
    shape = SHAPE._replace(keys=10_000, value_bytes=1, rewritten_per_million=50_000)
    with Versioned(engine, tmp_path, "mono_space", shape, create=True) as database:
        assert database.prepare(1) == shape.keys
        assert 450 < database.prepare(2) < 550

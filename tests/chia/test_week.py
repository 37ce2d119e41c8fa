"""cdb bench week on a few blocks: what comes to the stores, and what is told of them."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from time import sleep
from typing import Any

import pytest

pytest.importorskip("chia", reason="chia-blockchain is not installed here; make chia-tests has it")
pytest.importorskip("jsonschema", reason="results are checked by jsonschema")
pytest.importorskip("psutil", reason="machines are described by psutil")

from chia_rs import Coin, CoinRecord, CoinState

from cdb.bench.results import Document, check
from cdb.chia.bench import week as weeks
from cdb.chia.bench.feed import DEPTHS, Arrival, Feed, Reorg
from cdb.chia.bench.measuring import Setting
from cdb.chia.bench.terms import ASKED, END, FOLLOW, HINT, REST, SYNC
from cdb.chia.bench.wallets import REQUESTS, as_of
from cdb.chia.bench.week import Parts, Week, done
from cdb.contract.progress import Progress
from cdb.lab.process import WrongAnswerError, fresh_within
from cdb.lab.profile import FAST
from cdb.text.mainnet_shape import mainnet_shaped_blocks
from cdb.text.replay import write_blocks

BLOCKS = 60
LONG_SECONDS = 1_000.0


def lived(place: Path, part_seconds: float = LONG_SECONDS, runs: int = 1) -> Document:
    """A week of a few blocks; nothing of it is left in the directory."""
    told: dict[str, int] = {}

    @contextmanager
    def bar(what: str, total: int, unit: str) -> Iterator[Progress]:
        told.setdefault(what, 0)

        def tell(more: int) -> None:
            told[what] += more
            assert 0 <= told[what] <= runs * (total + 2 * max(DEPTHS))

        yield tell

    notes: list[str] = []
    setting = Setting(runs, FAST, place, "here", "a command", notes.append)
    document = Week(BLOCKS, part_seconds, setting, bar).run()
    assert notes[0].startswith("FAST, chia: sync 60 blocks and then add hints, follow 40")
    assert [*told] == ["blocks are made", "FAST, chia", "FAST, cdb"]
    for store, made in zip(("chia", "cdb"), parts(document), strict=False):
        assert told[f"FAST, {store}"] == runs * sum(made.values())
    assert not [*place.iterdir()]
    return document


def parts(document: Document) -> list[dict[str, int]]:
    """Of each round its parts, and how many blocks they had."""
    return [
        {
            case["workload"]: case["parameters"]["blocks"]
            for case in each["cases"]
            if "blocks" in case["parameters"]
        }
        for each in document["rounds"]
    ]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """Two weeks of each store."""
    return lived(tmp_path_factory.mktemp("week"), runs=2)


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Blocks of a week."""
    path = tmp_path_factory.mktemp("replay") / "replay.txt"
    with path.open("wb") as stream:
        write_blocks(stream, islice(mainnet_shaped_blocks(heights=3_000, spends_from=50), 900))
    return path


def test_a_week_is_a_result(document: Document) -> None:
    check(document, "it")
    assert document["week"] == {"blocks": BLOCKS, "part_seconds": LONG_SECONDS}
    turns = [(each["store"], each["run"]) for each in document["rounds"]]
    assert turns == [("chia", 1), ("cdb", 1), ("cdb", 2), ("chia", 2)]
    requests = [request.method for request in REQUESTS]
    for each in document["rounds"]:
        cases = [case["workload"] for case in each["cases"]]
        assert cases == [SYNC, HINT, FOLLOW, ASKED, *requests, END]
        told = {case["workload"]: case["figures"] for case in each["cases"]}
        assert told[SYNC]["wall_seconds"] > told[SYNC]["hints_wall_seconds"] == 0
        assert told[HINT]["wall_seconds"] >= told[HINT]["hints_wall_seconds"] > 0
        assert told[FOLLOW]["wall_seconds"] > told[FOLLOW]["hints_wall_seconds"] > 0
        assert told[SYNC]["written_bytes"] > 0
        assert "block_max_microseconds" not in told[HINT]
        assert told[FOLLOW]["reorg_max_microseconds"] > 0
        assert told[END]["size_bytes"] > 0
        assert told[END]["peak_rss_bytes"] > 10**7


def test_each_week_is_the_same_and_answers_the_same(document: Document) -> None:
    told = [
        [case["answers"] for case in each["cases"] if case["workload"] != HINT]
        for each in document["rounds"]
    ]
    assert len({*told[0]}) == len(told[0])
    assert told.count(told[0]) == 4
    counts = parts(document)
    assert counts.count(counts[0]) == 4
    assert counts[0][SYNC] == BLOCKS


def test_what_chias_store_has_no_time_for_cdbs_does_alone(tmp_path: Path) -> None:
    document = lived(tmp_path, part_seconds=0.001)
    theirs, ours = parts(document)
    assert theirs[SYNC] < BLOCKS
    assert {**ours, REST: 0} == {**theirs, REST: 0}
    assert ours[HINT] <= ours[SYNC]
    assert sum(ours.values()) - ours[HINT] == BLOCKS
    check(document, "it")


def test_a_store_that_answers_otherwise_leaves_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lying(*arguments: Any) -> Any:
        made = fresh_within(*arguments)
        if arguments[-1]["store"] == "cdb":
            made[2]["answers"] = "0" * 64
        return made

    monkeypatch.setattr(weeks, "fresh_within", lying)
    with pytest.raises(WrongAnswerError, match=r"follow the tip .*: the answers of cdb in round 1"):
        lived(tmp_path)


def test_a_feed_gives_all_the_same(replay: Path) -> None:
    feeds = [Feed(replay, 1) for _ in range(2)]
    for _ in range(300):
        assert feeds[0].next() == feeds[1].next()
    assert feeds[0].episode() == feeds[1].episode()
    assert feeds[0].known == feeds[1].known
    assert len(feeds[0].known) > 300


def test_a_branch_has_the_same_transactions_and_other_rewards(replay: Path) -> None:
    feed, depths, n_kept = Feed(replay, 1), set[int](), 0
    for _ in range(500):
        feed.next()
    while len(depths) < len({*DEPTHS}):
        fork = feed.height
        (*lost, last), grown = feed.episode()
        if not isinstance(last, Reorg):
            assert (lost, grown) == ([], 1)
            continue
        assert last.height == fork
        assert len(last.blocks) == grown == len(lost) + 1
        depths.add(len(lost))
        made = {name for _, (_, coins, _) in last.blocks for name, _, _ in coins}
        for branch, (height, (rewards, _, spends)) in zip(lost, last.blocks, strict=False):
            assert isinstance(branch, Arrival)
            other_height, (other_rewards, coins, other_spends) = branch.block
            assert height == other_height
            assert len(rewards) == len(other_rewards)
            assert not {*map(Coin.name, rewards)} & {*map(Coin.name, other_rewards)}
            assert {name for name, _, _ in coins} <= made
            assert {*other_spends} <= {*spends}
            n_kept += len(coins)
    assert n_kept


def test_what_came_later_is_left_out_of_what_is_compared() -> None:
    one, two = (Coin(bytes([n]) * 32, bytes(32), 5) for n in (1, 2))
    before = [CoinState(one, None, 7)]
    after = {CoinState(one, 9, 7), CoinState(two, None, 9)}
    assert as_of(8, before) == as_of(8, (list(after), None)) == as_of(8, after)
    assert as_of(9, before) != as_of(9, after)
    assert as_of(8, CoinRecord(one, 7, 9, False, 1)) == as_of(8, before)
    assert as_of(8, None) == as_of(8, []) != as_of(8, before)


def test_parts_and_what_was_done_of_them(document: Document) -> None:
    assert Parts.of(100_000) == Parts(100_000, 100_000, 1_000, 200)
    cases = document["rounds"][0]["cases"]
    assert done(cases).synced == BLOCKS
    assert done(cases).asked >= Parts.of(BLOCKS).asked


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_ends_it_is_told_that_nothing_is_left(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cdb.cmds.bench_week", "--profile", "FAST"]
    command += ["--dir", str(tmp_path), "--results", str(tmp_path / "results")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr)
        assert "needs up to" in next(lines)
        while not any(tmp_path.glob("*/*/replay.txt")):
            sleep(0.05)
        process.send_signal(number)
        assert next(lines) == "interrupted; nothing is left of this week on FAST\n"
        assert "".join(lines).strip() == ""
    assert process.returncode == (130 if number == signal.SIGINT else 143)
    assert not [*tmp_path.iterdir()]

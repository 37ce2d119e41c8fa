"""cdb bench week on a few blocks: what comes to the stores, and what is told of them."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from time import sleep

import pytest

pytest.importorskip("chia", reason="chia-blockchain is not installed here; make chia-tests has it")
pytest.importorskip("jsonschema", reason="results are checked by jsonschema")
pytest.importorskip("psutil", reason="machines are described by psutil")

from chia_rs import Coin, CoinRecord, CoinState

from cdb.bench.results import Document
from cdb.chia.bench.feed import DEPTHS, Arrival, Feed, Reorg
from cdb.chia.bench.terms import ASKED, END, FOLLOW, HINT, REST, SYNC, Parts
from cdb.chia.bench.wallets import REQUESTS, as_of
from cdb.chia.bench.week import Week, done, parts_of
from cdb.contract.progress import Progress
from cdb.text.mainnet_shape import mainnet_shaped_blocks
from cdb.text.replay import write_blocks
from tests.chia.test_bench import campaign

BLOCKS = 60
LONG_SECONDS = 1_000.0


def lived(place: Path, part_seconds: float = LONG_SECONDS) -> list[Document]:
    """Two weeks of each store, of a few blocks; nothing of it is left but results."""
    told: dict[str, int] = {}

    @contextmanager
    def bar(what: str, total: int, unit: str) -> Iterator[Progress]:
        told.setdefault(what, 0)

        def tell(more: int) -> None:
            told[what] += more
            assert 0 <= told[what] <= 2 * (total + 2 * max(DEPTHS))

        yield tell

    notes: list[str] = []
    documents = [*campaign(Week(BLOCKS, part_seconds, bar).experiment(), place, notes.append).run()]
    plan = "run 1 of 4: FAST, round 1, chia: sync 60 blocks and then add hints, follow 40"
    assert notes[0].startswith(plan)
    assert [*told] == ["blocks are made", "chia", "cdb"]
    for store in ("chia", "cdb"):
        own = [each for each in documents if each["contestant"]["name"] == store]
        assert told[store] == sum(sum(made.values()) for made in parts(own))
    assert not [*(place / "here").iterdir()]
    return documents


def parts(documents: list[Document]) -> list[dict[str, int]]:
    """Of each run its parts, and how many blocks they had."""
    return [
        {
            case["workload"]: case["parameters"]["blocks"]
            for case in each["cases"]
            if "blocks" in case["parameters"]
        }
        for each in documents
    ]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    """Two weeks of each store."""
    return lived(tmp_path_factory.mktemp("week"))


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Blocks of a week."""
    path = tmp_path_factory.mktemp("replay") / "replay.txt"
    with path.open("wb") as stream:
        write_blocks(stream, islice(mainnet_shaped_blocks(heights=3_000, spends_from=50), 900))
    return path


def test_a_week_is_a_result(documents: list[Document]) -> None:
    turns = [(each["contestant"]["name"], each["run"]) for each in documents]
    assert turns == [("chia", 1), ("cdb", 1), ("cdb", 2), ("chia", 2)]
    requests = [request.method for request in REQUESTS]
    for each in documents:
        assert each["data"]["blocks"] == BLOCKS
        assert each["data"]["part_seconds"] == LONG_SECONDS
        assert {case["outcome"] for case in each["cases"]} == {"measured"}
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


def test_each_week_is_the_same_and_answers_the_same(documents: list[Document]) -> None:
    told = [
        [case["answers"] for case in each["cases"] if case["workload"] != HINT]
        for each in documents
    ]
    assert len({*told[0]}) == len(told[0])
    assert told.count(told[0]) == 4
    counts = parts(documents)
    assert counts.count(counts[0]) == 4
    assert counts[0][SYNC] == BLOCKS


def test_what_chias_store_has_no_time_for_cdbs_does_alone(tmp_path: Path) -> None:
    theirs, ours, again, last = parts(lived(tmp_path, part_seconds=0))
    assert theirs == dict.fromkeys((SYNC, HINT, FOLLOW, ASKED), 1)
    assert theirs == last == {name: blocks for name, blocks in again.items() if name != REST}
    assert {**ours, REST: 0} == {**theirs, REST: 0}
    assert sum(ours.values()) - ours[HINT] == BLOCKS


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


def test_parts_and_what_was_done_of_them(documents: list[Document]) -> None:
    assert parts_of(100_000) == Parts(100_000, 100_000, 1_000, 200)
    cases = documents[0]["cases"]
    made = done(cases)
    assert made is not None
    assert made.synced == BLOCKS
    assert made.asked >= parts_of(BLOCKS).asked
    assert done([case for case in cases if case["workload"] != ASKED]) is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_ends_it_is_told_what_is_made(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cdb.cmds.bench_week", "--profile", "FAST"]
    command += ["--dir", str(tmp_path), "--results", str(tmp_path / "results")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr)
        assert "needs up to" in next(lines)
        while not any(tmp_path.glob("*/*/replay.txt")):
            sleep(0.05)
        process.send_signal(number)
        assert next(lines).startswith("interrupted; 0 of 2 runs are in ")
        assert "".join(lines).strip() == ""
    assert process.returncode == (130 if number == signal.SIGINT else 143)
    assert not [*tmp_path.iterdir()]

"""Memory over a long load: once caches are full, it may grow by 10 bytes a coin, as a filter needs.

The peak of the last 250,000 coins is held against that of those before: what is collected and
written again and again, as a small memtable is, grows and shrinks within each. As soon as the two
are alike, the load may end; if they never are, memory leaks. What was loaded must be there then.
"""

from collections.abc import Sequence
from math import inf
from pathlib import Path

from cdb.contents.loader import accept
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import Coin, CoinInfo
from cdb.contract.packed import PackedBlocks
from cdb.contract.schema import Schema
from cdb.errors import UnsupportedError
from cdb.schemas.memory import MemorySchema
from cdb.testing.chains import child, hash_of
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError, Case, error_text
from cdb.testing.faults.remote import RemoteSchema
from cdb.testing.faults.trial import DATABASE, length, usable
from cdb.text.mainnet import farmer_coin, pool_coin

TRIAL = "memory"
MOST_STEPS = 400
LEAST_STEPS = 75
WINDOW_STEPS = 25
BLOCKS_A_STEP = 100
HEIGHTS_A_BLOCK = 25
COINS_A_STEP = 4 * HEIGHTS_A_BLOCK * BLOCKS_A_STEP  # two rewards a height, each of which is spent
SPENT_AFTER_BLOCKS = 500
ASKED_BLOCKS = 20
MOST_BYTES_A_COIN = 10.0  # 1 MB per 100,000 coins

STATUS = Path("/proc/self/status")


def missing() -> str | None:
    """Why memory can't be measured on this machine; None when it can."""
    return None if STATUS.exists() else f"memory is read from {STATUS}, which Linux has"


def memory_slope(
    spec: str, seed: int, directory: Path, *, most: int | None = None, only: str | None = None
) -> Coverage:
    """Load in a fresh process. See Trial; its points are steps of 10,000 coins.

    most: so early there is no verdict, if memory still grows; only: the steps until the verdict.
    """
    info = usable(spec)
    if isinstance(info.spec.factory, type) and issubclass(info.spec.factory, MemorySchema):
        raise UnsupportedError("it keeps everything in memory, as the reference model does")
    verdict_steps = length(None, only, MOST_STEPS)
    most_steps = min(most or verdict_steps, verdict_steps)
    taken: list[int] = []
    try:
        with RemoteSchema(spec, directory / DATABASE) as schema:
            while bytes_a_coin(taken) > MOST_BYTES_A_COIN and len(taken) < most_steps:
                taken.append(schema.do(_load, len(taken)))
            wrong = schema.do(_first_wrong_answer, len(taken))
    except Exception as error:
        case = Case(TRIAL, spec, seed, str(len(taken) + 1))
        raise BrokenPromiseError(case, error_text(error)) from error
    slope = bytes_a_coin(taken)
    still_grows = slope > MOST_BYTES_A_COIN
    if still_grows and len(taken) == verdict_steps:
        case = Case(TRIAL, spec, seed, str(len(taken)))
        raise BrokenPromiseError(case, f"memory still grows, by {slope:.1f} bytes a coin")
    if wrong is not None:
        case = Case(TRIAL, spec, seed, str(len(taken)))
        raise BrokenPromiseError(case, f"it keeps memory small, and not {wrong}")
    found = {"still growing" if still_grows else "bounded": 1}
    return Coverage(TRIAL, spec, seed, len(taken), len(taken), 1, found)


def bytes_a_coin(taken: Sequence[int]) -> float:
    """How fast memory grows at the end; infinitely, before it is warm. taken: after each step."""
    if len(taken) < LEAST_STEPS:
        return inf
    last, before = taken[-WINDOW_STEPS:], taken[-2 * WINDOW_STEPS : -WINDOW_STEPS]
    return (max(last) - max(before)) / (WINDOW_STEPS * COINS_A_STEP)


def _load(schema: Schema, step: int) -> int:
    """Load the blocks of a step. Returns the bytes that this process has for itself.

    Pages of files are not among them, which the system takes back when it needs them.
    """
    numbers = range(step * BLOCKS_A_STEP, (step + 1) * BLOCKS_A_STEP)
    accept(schema, PackedBlocks.of(map(_block, numbers)))
    schema.flush()
    fields = dict(line.split(":", 1) for line in STATUS.read_text("ascii").splitlines())
    return sum(int(fields[name].removesuffix("kB")) * 1024 for name in ("RssAnon", "RssShmem"))


def _first_wrong_answer(schema: Schema, steps: int) -> str | None:
    """What of the first, the last and some other blocks isn't there as it was loaded."""
    loaded = steps * BLOCKS_A_STEP
    for number in range(0, loaded, max(1, (loaded - 1) // ASKED_BLOCKS)):
        block = canonical(_block(number))
        if schema.block_info_for_block_index(block.index) != block:
            return f"block {block.index}"
        later = number + SPENT_AFTER_BLOCKS
        spent = {coin.name() for coin in _rewards(number)} if later < loaded else ()
        names = [coin.name() for coin in block.confirms]
        at = {name: _index(later) if name in spent else 0 for name in names}
        infos = schema.coin_infos_for_coin_names(names)
        right = [CoinInfo(coin, block.index, at[coin.name()]) for coin in block.confirms]
        if infos != right:
            return f"the coins of block {block.index}"
    return None


def _block(number: int) -> BlockSpendInfo:
    """A block that needs no memory to be made up: it spends the rewards of an earlier one."""
    confirms = _rewards(number)
    spends = []
    if number >= SPENT_AFTER_BLOCKS:
        spends = [coin.name() for coin in _rewards(number - SPENT_AFTER_BLOCKS)]
        confirms += map(child, spends)
    return BlockSpendInfo(_index(number), 0, spends, confirms)


def _index(number: int) -> int:
    return (number + 1) * HEIGHTS_A_BLOCK


def _rewards(number: int) -> list[Coin]:
    """As mainnet has them, for some schemas remember all other coins that have no parent."""
    heights = range(number * HEIGHTS_A_BLOCK, (number + 1) * HEIGHTS_A_BLOCK)
    farmer = hash_of("farmer", number)
    return [make(height, farmer) for height in heights for make in (pool_coin, farmer_coin)]

"""A process with one store that goes on with a chain, step by step, as long as it is told to."""

import asyncio
import json
import select
import sys
from collections.abc import Iterator
from hashlib import sha256
from itertools import count, islice
from pathlib import Path
from typing import Any

from chia_rs import Coin
from chia_rs.sized_bytes import bytes32

from cdb.chia.bench.chain import Block
from cdb.chia.bench.feed import Feed, Reorg, Step
from cdb.chia.bench.questions import digest
from cdb.chia.bench.stores import Store, opened

SEED = 7
PAUSE_SECONDS = 0.02
MOST_BESIDE = 500


def steps(tail: Path, plain_from: int) -> Iterator[list[Step]]:
    """What arrives at the tip: now and then a reorg, but blocks alone from a number on."""
    feed = Feed(tail, SEED)
    for number in count():
        arrived = [*feed.take(1)] if number >= plain_from else feed.episode()[0]
        if not arrived:
            return
        yield [*arrived]


async def walk(store: Store, todo: Iterator[list[Step]], until_told: bool) -> tuple[int, str]:
    """Do steps; how many they were, and the digest of all answers.

    until_told: slowly, and until standard input ends, but one at least.
    """
    done, answers = 0, sha256()
    for arrived in todo:
        if until_told and done and select.select([sys.stdin], [], [], PAUSE_SECONDS)[0]:
            break
        for step in arrived:
            answers.update(digest(await _take(store, step)).encode())
        done += 1
    return done, answers.hexdigest()


async def _take(store: Store, step: Step) -> list[Any]:
    spent = await store.calls.get_coin_records(step.older)
    answers = [spent]
    parents = {record.name: record.coin for record in spent}
    if isinstance(step, Reorg):
        blocks = [_marked(block, parents) for block in step.blocks]
        answers.append(await store.reorganize(step.height, blocks))
    else:
        await store.add(_marked(step.block, parents))
    await store.hint(step.hints)
    return answers


def _marked(block: Block, parents: dict[bytes32, Coin]) -> Block:
    """The block with marks at coins that are their parent again, as consensus gives it."""
    height, (rewards, additions, removals) = block
    parents.update({name: coin for name, coin, _ in additions})
    marked = []
    for name, coin, _ in additions:
        parent = parents.get(coin.parent_coin_info)
        again = parent and (parent.puzzle_hash, parent.amount) == (coin.puzzle_hash, coin.amount)
        marked.append((name, coin, bool(again)))
    return height, (rewards, marked, removals)


async def _main(
    name: str, directory: str, tail: str, plain_from: str, first: str, most: str
) -> None:
    todo = islice(steps(Path(tail), int(plain_from)), int(first), None)
    async with opened(name, Path(directory)) as store:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        limited = islice(todo, MOST_BESIDE if most == "until told" else int(most))
        done, answers = await walk(store, limited, most == "until told")
    sys.stdout.write(json.dumps({"steps": done, "answers": answers}))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))

"""A progress bar of coins, on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from cdb.damage import Progress


@contextmanager
def coin_bar(what: str) -> Iterator[Progress]:
    """What is told of coins, and shows their number; of no known end."""
    hidden = not sys.stderr.isatty()
    with tqdm(desc=what, unit=" coins", unit_scale=True, leave=False, disable=hidden) as bar:
        yield bar.update

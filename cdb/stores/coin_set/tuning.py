"""Options of a coin set that change no key and no value, as native code reads them.

native/coin_set/hot_coins.h has hot_latest_mb; the others are those of engines that know them.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from cdb.stores.coin_set.layouts import one_of


def count(text: str) -> int:
    """A whole number from 1 on."""
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise ValueError(f"'{text}' is no whole number from 1 to 999999999")
    return int(text)


TUNING: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "hot_latest_mb": count,
        "compression": partial(one_of, ("none", "snappy", "lz4", "zstd")),
        "max_open_files": count,
        "height_filter": partial(one_of, ("no", "yes")),
        "session_reuse": partial(one_of, ("no", "yes")),
    }
)


def tuning_text(options: Mapping[str, str]) -> str:
    """Those of them that are given, as ``,NAME=VALUE`` each."""
    return "".join(f",{name}={options[name]}" for name in sorted(TUNING) if name in options)

"""Prints coins, a line each: for people, as JSON or as CSV."""

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import chain, islice

from cdb.cmds.echo import echo
from cdb.cmds.table import table
from cdb.contract.coins import CoinInfo

UNSPENT = "unspent"
PAGE_ROWS = 1_000
"""So many lines are made at a time."""

_HEADS = ("name", "confirmed", "spent", "amount", "puzzle hash", "parent")
_LEFT = frozenset({0, 4, 5})
_WIDEST = (64, 10, 10, 20, 64, 64)
_FIELDS = ("name", "confirmed_index", "spent_index", "amount", "puzzle_hash", "parent")


class Form(Enum):
    """What a line is."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def show_coins(infos: Iterable[CoinInfo], form: Form) -> None:
    """Print coins as they come, some at a time. Where there is none, only CSV has its line of
    column names."""
    rest = iter(infos)
    page = list(islice(rest, PAGE_ROWS))
    # Of one page the columns are as wide as they have to be; of more, as they ever are.
    rows = [_HEADS] if form is Form.TABLE and page else []
    least = _WIDEST if len(page) == PAGE_ROWS else None
    if form is Form.CSV:
        csv.DictWriter(sys.stdout, _FIELDS, lineterminator="\n").writeheader()
    for infos_of_page in chain([page], iter(lambda: list(islice(rest, PAGE_ROWS)), [])):
        _show_page(infos_of_page, form, rows, least)
        rows = []


def _show_page(
    infos: Sequence[CoinInfo],
    form: Form,
    heads: Sequence[Sequence[str]],
    least: Sequence[int] | None,
) -> None:
    if form is Form.CSV:
        writer = csv.DictWriter(sys.stdout, _FIELDS, lineterminator="\n")
        writer.writerows(map(_fields, infos))
    elif form is Form.JSON and infos:
        echo("\n".join(json.dumps(_fields(info)) for info in infos))
    elif infos:
        echo(table([*heads, *map(_row, infos)], left=_LEFT, least=least))


def _row(info: CoinInfo) -> list[str]:
    coin = info.coin
    heights = [str(info.confirmed_index), str(info.spent_index or UNSPENT)]
    hashes = [coin.puzzle_hash.hex(), coin.parent_coin_name.hex()]
    return [coin.name().hex(), *heights, str(coin.amount), *hashes]


def _fields(info: CoinInfo) -> dict[str, str | int]:
    return {
        "name": info.coin.name().hex(),
        "confirmed_index": info.confirmed_index,
        "spent_index": info.spent_index,
        "amount": info.coin.amount,
        "puzzle_hash": info.coin.puzzle_hash.hex(),
        "parent": info.coin.parent_coin_name.hex(),
    }

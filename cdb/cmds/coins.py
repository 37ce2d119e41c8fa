"""coins: coins by puzzle hash, parent or block, of a database that has secondary keys."""

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import click

from cdb.cmds.echo import echo
from cdb.cmds.options import database_arguments, quiet_option
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.coins import MAX_U32, NAME_BYTES, CoinInfo, bytes32
from cdb.errors import SchemaError, UnsupportedError
from cdb.plain import printable
from cdb.schemas import IndexedSchema, SchemaInfo, find_schema, offer_of, schema_names

_HEADS = ("name", "confirmed", "spent", "amount", "puzzle hash", "parent")
_LEFT = frozenset({0, 4, 5})
_FIELDS = ("name", "confirmed_index", "spent_index", "amount", "puzzle_hash", "parent")
UNSPENT = "unspent"


class HashType(click.ParamType[bytes32]):
    """32 bytes as hex digits, with 0x before them or without."""

    name = "hash"

    def convert(
        self, value: str | bytes32, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes32:
        """As click has it."""
        if isinstance(value, bytes32):
            return value
        digits = value[2:] if value[:2] in ("0x", "0X") else value
        if len(digits) != 2 * NAME_BYTES or not set(digits) <= set("0123456789abcdefABCDEF"):
            shown = value if len(value) <= 2 * NAME_BYTES + 2 else f"{value[:16]}…"
            self.fail(f"'{printable(shown)}' is not {2 * NAME_BYTES} hex digits", param, ctx)
        return bytes32(bytes.fromhex(digits))


_HEIGHT = click.IntRange(0, MAX_U32)


@click.command("coins")
@database_arguments
@click.option(
    "--puzzle-hash",
    "puzzle_hashes",
    type=HashType(),
    multiple=True,
    metavar="HEX",
    help="The coins of this puzzle hash. May be repeated, as all keys may.",
)
@click.option(
    "--parent",
    "parents",
    type=HashType(),
    multiple=True,
    metavar="HEX",
    help="The children of the coin with this name.",
)
@click.option(
    "--confirmed-at",
    "confirmed",
    type=_HEIGHT,
    multiple=True,
    metavar="H",
    help="The coins that the block at height H confirmed.",
)
@click.option(
    "--spent-at",
    "spent",
    type=_HEIGHT,
    multiple=True,
    metavar="H",
    help="The coins that the block at height H spent.",
)
@click.option("--unspent", is_flag=True, help="Only coins that are unspent.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the first N of them.")
@click.option(
    "--json", "as_json", is_flag=True, help="Write each coin as a JSON object on its line."
)
@click.option("--csv", "as_csv", is_flag=True, help="Write CSV: a line of column names, and coins.")
@quiet_option
def coins(
    schema: SchemaInfo,
    path: Path,
    *,
    puzzle_hashes: tuple[bytes32, ...],
    parents: tuple[bytes32, ...],
    confirmed: tuple[int, ...],
    spent: tuple[int, ...],
    unspent: bool,
    limit: int | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Find coins of a database by puzzle hash, by parent or by block.

    Give one kind of key, once or more often. Coins come by the block that confirmed them and then
    by name; those of several blocks come block by block. Each coin is a line: its name, the heights
    that confirmed and spent it, its amount in mojos, its puzzle hash and its parent. In JSON and in
    CSV spent_index is 0 for an unspent coin.

    The command opens the database only for reading. PATH alone is enough where its files name the
    schema. The database must have secondary keys, which 'cdb info PATH' shows: those of memory have
    them, and those that blockchain_v2:INDEXED, coin_log:INDEXED and rocks_kv:INDEXED make; with
    blockchain_v2 it can be a full node's own. 'cdb schemas' lists what makes them.

    \b
    Examples:
      cdb load_blocks blockchain_v2:INDEXED --db chain.sqlite --input replay.txt
      cdb coins chain.sqlite --confirmed-at 1 --json
      cdb coins chain.sqlite --spent-at 225700 --csv > spent.csv
      cdb coins chain.sqlite --unspent --puzzle-hash $(cat my-puzzle-hash.txt)
    """
    given = [key for key in (puzzle_hashes, parents, confirmed, spent) if key]
    if len(given) != 1:
        names = "--puzzle-hash, --parent, --confirmed-at and --spent-at"
        raise click.UsageError(f"give one of {names}; one kind at a time, as often as you like")
    if spent and unspent:
        raise click.UsageError("--spent-at finds spent coins alone: leave out --unspent")
    if as_json and as_csv:
        raise click.UsageError("give one of --json and --csv")
    schema.check_keeps_contract()
    with schema.open(path, read_only=True) as database:
        keys = offer_of(database).indexed
        if keys is None:
            raise UnsupportedError(_no_keys(schema, path))
        if puzzle_hashes:
            infos = keys.coin_infos_for_puzzle_hashes(
                [*puzzle_hashes], include_spent=not unspent, limit=limit
            )
        elif parents:
            infos = keys.coin_infos_for_parents([*parents], include_spent=not unspent, limit=limit)
        else:
            found = _of_blocks(keys, confirmed, spent, unspent=unspent)
            infos = list(islice(found, None if limit is None else min(limit, sys.maxsize)))
    if as_csv:
        _show_csv(infos)
    elif as_json and infos:
        echo("\n".join(json.dumps(_fields(info)) for info in infos))
    elif infos:
        echo(table([_HEADS, *map(_row, infos)], left=_LEFT))


def _of_blocks(
    keys: IndexedSchema, confirmed: Iterable[int], spent: Iterable[int], *, unspent: bool
) -> Iterator[CoinInfo]:
    of_blocks = chain(
        map(keys.coin_infos_confirmed_at, sorted(set(confirmed))),
        map(keys.coin_infos_spent_at, sorted(set(spent))),
    )
    return (info for infos in of_blocks for info in infos if not (unspent and info.spent_index))


def _show_csv(infos: list[CoinInfo]) -> None:
    """With its column names, also where there is no coin."""
    writer = csv.DictWriter(sys.stdout, _FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(_fields, infos))


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


def _no_keys(schema: SchemaInfo, path: Path) -> str:
    """What to say of a database without secondary keys."""
    if schema.indexed is not None:
        made = f"'cdb load_blocks {schema.indexed} --db NEW' makes one with them"
        return f"{path}: this database has no secondary keys; {made}"
    others = [found for name in schema_names() if (found := _keyed_spec(name)) is not None]
    made = f"'cdb load_blocks SCHEMA --db NEW' makes one, where SCHEMA is {' or '.join(others)}"
    return f"{path}: {schema.name} has no secondary keys; {made}"


def _keyed_spec(name: str) -> str | None:
    try:
        return find_schema(name).indexed
    except SchemaError:
        return None


if __name__ == "__main__":
    run(coins)

"""coins: coins by puzzle hash, parent or block, of a database that has secondary keys; and all as
of a height, of one that keeps history."""

from itertools import islice

import click

from cdb.cmds.coin_lines import Form, show_coins
from cdb.cmds.coin_questions import Keys, Past, at_most
from cdb.cmds.echo import echo, echo_json
from cdb.cmds.options import database_arguments, quiet_option
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.contents.history_digest import RowsDigest
from cdb.contract.coins import MAX_U32, NAME_BYTES, bytes32
from cdb.contract.location import Location
from cdb.contract.printable import printable
from cdb.schemas import SchemaInfo, history_of


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
@click.option("--unspent", is_flag=True, help="Only coins that are unspent; alone: all of them.")
@click.option(
    "--as-of",
    "height",
    type=click.IntRange(min=0),
    metavar="H",
    help="All coins as they were after the last block up to height H.",
)
@click.option(
    "--versions",
    "window",
    type=(click.IntRange(min=0), click.IntRange(min=0)),
    metavar="A B",
    help="What each block from height A to B left of each coin that it confirmed or spent.",
)
@click.option(
    "--digest",
    "as_digest",
    is_flag=True,
    help="Of --as-of, --unspent or --versions only the number of rows, and their digest.",
)
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the first N of them.")
@click.option(
    "--json", "as_json", is_flag=True, help="Write each coin as a JSON object on its line."
)
@click.option("--csv", "as_csv", is_flag=True, help="Write CSV: a line of column names, and coins.")
@quiet_option
def coins(
    schema: SchemaInfo,
    location: Location,
    *,
    puzzle_hashes: tuple[bytes32, ...],
    parents: tuple[bytes32, ...],
    confirmed: tuple[int, ...],
    spent: tuple[int, ...],
    unspent: bool,
    height: int | None,
    window: tuple[int, int] | None,
    as_digest: bool,
    limit: int | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Find coins of a database by puzzle hash, by parent or by block; or tell all as of a height.

    Give one kind of key, once or more often. Coins come by the block that confirmed them and then
    by name; those of several blocks come block by block. Each coin is a line: its name, the heights
    that confirmed and spent it, its amount in mojos, its puzzle hash and its parent. In JSON and in
    CSV spent_index is 0 for an unspent coin.

    The command opens the database only for reading. PATH alone is enough where its files name the
    schema. The database must have secondary keys, which 'cdb info PATH' shows: those of memory have
    them, and those that blockchain_v2:INDEXED, coin_log:INDEXED and rocks_kv:INDEXED make; with
    blockchain_v2 it can be a full node's own. 'cdb schemas' lists what makes them.

    --as-of, --versions and --unspent need no secondary keys, but a schema with history: 'cdb
    schemas' shows which. The coins of a state come in the schema's own order; versions by height
    and then by name. --digest tells whether two databases answer the same, whatever their schemas.

    \b
    Examples:
      cdb load_blocks blockchain_v2:INDEXED --db chain.sqlite --input replay.txt
      cdb coins chain.sqlite --confirmed-at 1 --json
      cdb coins chain.sqlite --spent-at 225700 --csv > spent.csv
      cdb coins chain.sqlite --unspent --puzzle-hash $(cat my-puzzle-hash.txt)
      cdb coins coin_log --as-of 1000000 --unspent --csv > unspent.csv
      cdb coins coin_log --versions 1000000 1000100
    """
    keys = Keys(puzzle_hashes, parents, confirmed, spent, unspent)
    past = Past(height, window, unspent)
    _check_usage(keys, past, as_digest=as_digest, limit=limit, as_json=as_json, as_csv=as_csv)
    schema.check_keeps_contract()
    form = Form.CSV if as_csv else Form.JSON if as_json else Form.TABLE
    with schema.open(location, read_only=True) as database:
        if keys.n_kinds:
            show_coins(keys.find(schema, location, database, limit), form)
        elif as_digest:
            _show_digest(past.digest(history_of(database, schema.name)), as_json=as_json)
        else:
            rows = past.rows(history_of(database, schema.name))
            show_coins(islice(rows, at_most(limit)), form)


def _check_usage(
    keys: Keys,
    past: Past,
    *,
    as_digest: bool,
    limit: int | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Raise UsageError for options that don't go together."""
    names = "--puzzle-hash, --parent, --confirmed-at and --spent-at"
    if keys.n_kinds > 1 or not (keys.n_kinds or past.is_asked):
        advice = "or --as-of, --versions or --unspent without any"
        raise click.UsageError(
            f"give one of {names}; one kind at a time, as often as you like; {advice}"
        )
    if keys.n_kinds and (past.height is not None or past.window is not None or as_digest):
        problem = "--as-of, --versions and --digest are of all coins"
        raise click.UsageError(f"{problem}: leave out {names}")
    if past.window is not None and (past.height is not None or past.unspent):
        raise click.UsageError("--versions has its own heights: leave out --as-of and --unspent")
    if keys.spent and keys.unspent:
        raise click.UsageError("--spent-at finds spent coins alone: leave out --unspent")
    if as_digest and (as_csv or limit is not None):
        raise click.UsageError("--digest is of all rows: leave out --limit and --csv")
    if as_json and as_csv:
        raise click.UsageError("give one of --json and --csv")


def _show_digest(digest: RowsDigest, *, as_json: bool) -> None:
    if as_json:
        echo_json(digest._asdict())
    else:
        rows = [["rows", f"{digest.rows:,}"], ["digest", digest.digest]]
        echo(table(rows, left=frozenset({0, 1})))


if __name__ == "__main__":
    run(coins)

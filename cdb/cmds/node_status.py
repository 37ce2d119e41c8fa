"""node status: how a node's database is."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from cdb.cmds.echo import echo
from cdb.cmds.options import NodeFileType
from cdb.cmds.runner import fail, run
from cdb.cmds.table import table
from cdb.contract.printable import printable
from cdb.node.migrate.next_step import copied_height, next_step
from cdb.node.node_database import Coins
from cdb.node.status import Status, status_of, versions


@click.command("status")
@click.argument("node_db", metavar="NODE_DB", type=NodeFileType())
@click.option("--json", "as_json", is_flag=True, help="Write one object of JSON.")
def node_status(node_db: Path, *, as_json: bool) -> int:
    """Show how a node's database is: its peak, its coins in cdb, and whether they fit.

    NODE_DB is only read, also while the node runs; chia need not be installed. Sizes are in bytes.

    The table cdb_ops keeps what the node did to its coins, until the log has it for sure: the
    next start applies it again. One row always remains; during a backup none is deleted.

    \b
    Exits with
      0  all is well: a plain node, or coins in cdb that fit the file
      1  anything else; each problem is a line on standard error

    \b
    Examples:
      cdb node status ~/.chia/mainnet/db/blockchain_v2_mainnet.sqlite
      cdb node status blockchain_v2_mainnet.sqlite --json | jq .log_height
    """
    status = status_of(node_db)
    if as_json:
        echo(json.dumps(_object(status), indent=2))
    else:
        echo(table(_rows(status), left=frozenset({0, 1})))
    for problem in status.problems:
        fail(problem)
    return 1 if status.problems else 0


def _object(status: Status) -> dict[str, Any]:
    peak, heights = status.file.peak, status.file.heights
    return {
        "node_db": str(status.path),
        "coins": status.file.coins.name.lower(),
        "peak_height": None if peak is None else peak.height,
        "transaction_peak_height": None if peak is None else peak.transaction_height,
        "copied_height": copied_height(status),
        "log_height": status.log_height,
        "log_height_after_operations": status.next_height,
        "operations": {
            "count": status.file.n_rows,
            "lowest_height": None if heights is None else heights[0],
            "newest_height": None if heights is None else heights[1],
        },
        "is_backup_running": status.is_backup_running,
        "last_flush": _time(status.last_flush),
        "file_bytes": status.file_bytes,
        "wal_bytes": status.wal_bytes,
        "log_bytes": status.log_bytes,
        "versions": versions(),
        "next": next_step(status),
        "problems": status.problems,
    }


def _rows(status: Status) -> list[list[str]]:
    found = _object(status)
    kept = f"{status.file.n_rows:,} kept in cdb_ops{_blocks(status)}"
    coins = [
        ["newest block of the log", _number(status.log_height)],
        ["once operations are applied", _number(status.next_height)],
        ["operations", f"{kept}; a backup runs" if status.is_backup_running else kept],
        ["last flush", found["last_flush"] or "none"],
    ]
    if status.file.coins is Coins.IN_TABLE:
        copied = found["copied_height"]
        told = "none" if copied is None else f"{_number(copied)}; it is not in use"
        coins = [["newest block of the copy", told]]
    return [
        ["database", printable(str(status.path))],
        ["coins", status.file.coins.value],
        ["peak", _number(found["peak_height"])],
        ["newest transaction block", _number(found["transaction_peak_height"])],
        *coins,
        ["size of the file", _number(status.file_bytes)],
        ["size of its -wal", _number(status.wal_bytes)],
        ["size of the log", _number(status.log_bytes)],
        *([name, number or "not installed"] for name, number in versions().items()),
        ["state", "a problem, below" if status.problems else "all is well"],
        *([["next", printable(found["next"])]] if found["next"] else []),
    ]


def _blocks(status: Status) -> str:
    """Which blocks the operations have, for their line."""
    if status.file.heights is None:
        return ", without a block" if status.file.n_rows else ""
    lowest, newest = map(_number, status.file.heights)
    return f", block {newest}" if lowest == newest else f", blocks {lowest} to {newest}"


def _number(number: int | None) -> str:
    return "none" if number is None else f"{number:,}"


def _time(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat(timespec="seconds")


if __name__ == "__main__":
    run(node_status)

"""migrate: move a full node's coins into a coin log, and back."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cdb.chia.full_node import missing_chia
from cdb.cmds.bar import step_bar
from cdb.cmds.echo import echo_done, echo_json, echo_line, note_line
from cdb.cmds.options import NodeFileType, json_option, quiet_option
from cdb.cmds.runner import run
from cdb.contract.printable import shell_word
from cdb.contract.progress import rough_time
from cdb.node.migrate import activation, dropping, migration, reverting
from cdb.node.migrate.dropping import Dropped
from cdb.node.migrate.migration import Migrated, Plan
from cdb.node.migrate.reverting import Reverted


@click.command("migrate")
@click.argument("node_db", type=NodeFileType(dir_okay=False))
@click.option("--activate", is_flag=True, help="Switch the node to the copy. Stop the node first.")
@click.option("--revert", is_flag=True, help="Bring its own table back. Stop the node first.")
@click.option("--drop", is_flag=True, help="After --activate: drop the table that was put aside.")
@click.option("--vacuum", is_flag=True, help="With --drop: give what is free to the file system.")
@click.option("--force", is_flag=True, help="Go on where the table holds what no chain has.")
@json_option
@quiet_option
def migrate(
    node_db: Path,
    *,
    activate: bool,
    revert: bool,
    drop: bool,
    vacuum: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Move the coins of a full node's database, NODE_DB, into a coin log beside it: NODE_DB.cdb/.

    Without an option it copies the coins and verifies the copy by a digest over all of them. The
    node's file is only read, and the node may run. Ctrl-C, kill -9 and a power cut lose no more
    than some seconds' work: the same command goes on, and copies what has come since.

    Stop the node before --activate. It copies what is missing and switches: from then on the node
    has to be started as cdb_full_node, and a plain one refuses to start. Its table is put aside
    until --drop. --revert brings it back at any time, with all that was done since.

    Each says first about how long it takes and what free space it needs, and asks nothing. If
    killed, the file is unchanged or fully changed; run the same command again.

    What no chain has, such as coins whose name is not their hash, is counted and refused. With
    --force it is left out or taken, as the message says.

    \b
    Examples:
      cdb migrate ~/.chia/mainnet/db/blockchain_v2_mainnet.sqlite
      cdb migrate --activate ~/.chia/mainnet/db/blockchain_v2_mainnet.sqlite
      cdb migrate --drop --vacuum ~/.chia/mainnet/db/blockchain_v2_mainnet.sqlite
      cdb migrate --revert ~/.chia/mainnet/db/blockchain_v2_mainnet.sqlite
    """
    if activate + revert + drop > 1:
        raise click.UsageError("name one of --activate, --revert and --drop")
    if vacuum and not drop:
        raise click.UsageError("--vacuum goes with --drop")
    if force and (revert or drop):
        raise click.UsageError("--force goes with a migration, or with --activate")
    lines: list[str]
    if activate:
        done = activation.activate(node_db, force=force, tell=_tell, bar=step_bar)
        facts, lines = _copied(done), _active_lines(done, node_db)
        problem = missing_chia()
        if problem is not None:
            note_line(f"note: no node can run on it from here: {problem}")
    elif revert:
        reverted = reverting.revert(node_db, tell=_tell, bar=step_bar)
        facts = {**asdict(reverted), "log_path": str(reverted.log_path)}
        lines = _reverted_lines(reverted, node_db)
    elif drop:
        dropped = dropping.drop(node_db, vacuum=vacuum, tell=_tell, bar=step_bar)
        facts = {key: value for key, value in asdict(dropped).items() if key != "path"}
        lines = _dropped_lines(dropped, node_db, vacuum=vacuum)
    else:
        done = migration.migrate(node_db, force=force, tell=_tell, bar=step_bar)
        facts, lines = _copied(done), _copied_lines(done)
        lines.append(f"next: stop the node, and cdb migrate --activate {shell_word(node_db)}")
    if as_json:
        echo_json({"path": str(node_db), **facts})
    else:
        echo_done(*lines)


def _tell(plan: Plan) -> None:
    needed, free = _megabytes(plan.needed_bytes), _megabytes(plan.free_bytes)
    note_line(f"{plan.what}: about {rough_time(plan.seconds)}; needed: {needed}, free: {free}")


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.0f} MB"


def _copied(done: Migrated | None) -> dict[str, Any]:
    """For --json; nothing where the file was active already."""
    return {} if done is None else {**asdict(done), "log_path": str(done.log_path)}


def _copied_lines(done: Migrated) -> list[str]:
    if done.odd:
        echo_line(f"odd: {done.odd}", err=True)
    lines = [f"{done.log_path} has {done.coins:,} coins, up to block {done.height}"]
    if done.digest is not None:
        other = "cdb verify prints another one, of blocks"
        lines.append(f"digest of the coins, equal on both sides: {done.digest}; {other}")
    return lines


def _active_lines(done: Migrated | None, node_db: Path) -> list[str]:
    if done is None:
        return [f"{node_db} is active already"]
    return [
        *_copied_lines(done),
        f"{node_db} is active: start the node as cdb_full_node",
        "the old table is still in it: --drop drops it, --revert brings it back",
    ]


def _dropped_lines(dropped: Dropped, node_db: Path, *, vacuum: bool) -> list[str]:
    before, after, free = (
        f"{n_bytes / 1e6:,.1f}"
        for n_bytes in (dropped.file_bytes_before, dropped.file_bytes, dropped.free_bytes)
    )
    if vacuum:
        return [f"{node_db}: {before} → {after} MB"]
    told = f"{node_db}: the old table is dropped; of {after} MB, {free} MB are free"
    if not dropped.free_bytes:
        return [told]
    return [told, "the node's next blocks take them; --drop --vacuum gives them to the file system"]


def _reverted_lines(reverted: Reverted, node_db: Path) -> list[str]:
    left = reverted.problem or f"remove {shell_word(reverted.log_path)} when you need it no more"
    return [f"{node_db} has its own table again; {left}"]


if __name__ == "__main__":
    run(migrate)

"""The group ``cdb``: every command under one name."""

import importlib

import click

from cdb.cmds.runner import run

COMMANDS = ("demo", "dump_blocks", "load_blocks", "make_replay", "schemas", "verify")


class _LazyGroup(click.Group):
    """Imports a command only when it is asked for, so that each starts as fast as it can."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"cdb.cmds.{cmd_name}"), cmd_name)
        return command if isinstance(command, click.Command) else None


@click.group("cdb", cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cdb", prog_name="cdb")
def cdb() -> None:
    """Storage schemas for a coin-set blockchain, held to one contract and compared.

    Each command also runs as a module: python -m cdb.cmds.NAME.
    """


def main() -> None:
    """The console script."""
    run(cdb)


if __name__ == "__main__":
    main()

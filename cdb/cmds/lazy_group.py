"""A click group that imports a command only when it is asked for, so that each starts fast."""

import importlib
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import click

Sections = Mapping[str, Mapping[str, str]]


class LazyGroup(click.Group):
    """sections: of --help, by their titles: each command, and what it does in some 50 characters.

    prefix: with a command's name behind it, its module in cdb.cmds, and the object there.
    """

    def __init__(
        self, *arguments: Any, sections: Sections, prefix: str = "", **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.sections = sections
        self._lazy = {name: f"{prefix}{name}" for each in sections.values() for name in each}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click has it, by sections, and without a command's import."""
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([*commands.items()])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """As click has it."""
        return list(self._lazy)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click has it; a name's words may be joined otherwise, or not at all."""
        asked = args[0]
        name = {letters(name): name for name in self._lazy}.get(letters(asked))
        if name is None:
            near = get_close_matches(asked, self._lazy, n=1)
            hint = (
                f"Did you mean '{near[0]}'?" if near else f"'{ctx.command_path} --help' lists all."
            )
            ctx.fail(f"No such command {asked!r}. {hint}")
        return super().resolve_command(ctx, [name, *args[1:]])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """As click has it."""
        name = self._lazy.get(cmd_name)
        if name is None:
            return None
        command = getattr(importlib.import_module(f"cdb.cmds.{name}"), name)
        return command if isinstance(command, click.Command) else None


def letters(name: str) -> str:
    """load_blocks, load-blocks and LoadBlocks have the same."""
    return re.sub("[-_ ]", "", name).lower()

"""A click group that imports a command only when it is asked for, so that each starts fast."""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """lazy: for each command the name of its module in cdb.cmds, and of the object there."""

    def __init__(self, *arguments: Any, lazy: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """As click has it."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """As click has it."""
        name = self._lazy.get(cmd_name)
        if name is None:
            return None
        command = getattr(importlib.import_module(f"cdb.cmds.{name}"), name)
        return command if isinstance(command, click.Command) else None

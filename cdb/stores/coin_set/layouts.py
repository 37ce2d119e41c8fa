"""The layouts of a coin set over ordered keys, by name.

native/layouts/ has what they are, and docs/layouts/ draws them. A schema is LAYOUT@ENGINE.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

_NONE: Mapping[str, Sequence[str]] = MappingProxyType({})
_PAYLOAD: Mapping[str, Sequence[str]] = MappingProxyType({"payload": ("place", "inline")})
"""Whether rows say where a coin is, or have the coin, too; see native/layouts/payload.h."""


class Layout(NamedTuple):
    """What it is, in a line; and the values of its options, the first one where nobody says.

    Keys or values depend on them, so FORMAT keeps them, in the order of names.
    """

    what: str
    values: Mapping[str, Sequence[str]] = _NONE

    @property
    def options(self) -> Mapping[str, Callable[[str], str]]:
        """See cdb.schemas.registry."""
        return {name: partial(_one_of, values) for name, values in self.values.items()}

    def text_of(self, options: Mapping[str, str]) -> str:
        """Those with another value than where nobody says, as ``,NAME=VALUE`` each."""
        return "".join(
            f",{name}={options[name]}"
            for name, values in sorted(self.values.items())
            if options.get(name, values[0]) != values[0]
        )


def _one_of(values: Sequence[str], text: str) -> str:
    if text not in values:
        raise ValueError(f"'{text}' is not {' or '.join(values)}")
    return text


LAYOUTS: Mapping[str, Layout] = {
    "interval": Layout("where a coin is confirmed, and where it is spent", _PAYLOAD),
    "mono_space": Layout("versions of each coin in one keyspace, the newest first", _PAYLOAD),
    "dual_timeline": Layout("the newest version of each coin, and beside it all of them", _PAYLOAD),
    "option_1": Layout(
        "the newest version of each coin, and a log of what each block changed", _PAYLOAD
    ),
    "issue_196": Layout("versions of each coin in one keyspace, the oldest first", _PAYLOAD),
}

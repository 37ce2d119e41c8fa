"""The layouts of a coin set over ordered keys, by name.

native/layouts/ has what they are, and docs/layouts/ draws them. A schema is LAYOUT@ENGINE.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

_NONE: Mapping[str, Sequence[str]] = MappingProxyType({})
_NO_YES, _YES_NO = ("no", "yes"), ("yes", "no")
_PAYLOAD: Mapping[str, Sequence[str]] = MappingProxyType({"payload": ("place", "inline")})
"""Whether rows say where a coin is, or have the coin, too; see native/layouts/payload.h."""


class Layout(NamedTuple):
    """What it is, in a line; and the values of its options, the first one where nobody says.

    bytes_by: those that keys or values depend on, so FORMAT keeps them, in the order of names;
    others: all others.
    """

    what: str
    bytes_by: Mapping[str, Sequence[str]] = _NONE
    others: Mapping[str, Sequence[str]] = _NONE

    @property
    def options(self) -> Mapping[str, Callable[[str], str]]:
        """See cdb.schemas.registry."""
        return {
            name: partial(one_of, values)
            for name, values in {**self.bytes_by, **self.others}.items()
        }

    def text_of(self, options: Mapping[str, str]) -> tuple[str, str]:
        """Those that FORMAT keeps, and the others, as ``,NAME=VALUE`` each."""
        kept, others = (
            "".join(
                f",{name}={options[name]}"
                for name, values in sorted(known.items())
                if options.get(name, values[0]) != values[0]
            )
            for known in (self.bytes_by, self.others)
        )
        return kept, others


def one_of(values: Sequence[str], text: str) -> str:
    """The text, if it is one of these values."""
    if text not in values:
        raise ValueError(f"'{text}' is not {' or '.join(values)}")
    return text


LAYOUTS: Mapping[str, Layout] = {
    "interval": Layout(
        "where a coin is confirmed, and where it is spent",
        {**_PAYLOAD, "spends": ("own_row", "in_row")},
    ),
    "mono_space": Layout(
        "versions of each coin in one keyspace, the newest first",
        {**_PAYLOAD, "name32": _NO_YES},
        {"prefix_filter": _YES_NO},
    ),
    "dual_timeline": Layout(
        "the newest version of each coin, and beside it all of them",
        {**_PAYLOAD, "name32": _NO_YES},
        {"prefix_filter": _YES_NO},
    ),
    "option_1": Layout(
        "the newest version of each coin, and a log of what each block changed", _PAYLOAD
    ),
    "issue_196": Layout(
        "versions of each coin in one keyspace, the oldest first",
        _PAYLOAD,
        {"prefix_filter": _YES_NO},
    ),
}

"""The layouts of a coin set over ordered keys but the first one, by name.

native/layouts/ has what they are, and docs/layouts/ draws them. A schema is LAYOUT@ENGINE.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


def yes_or_no(text: str) -> bool:
    """An option's value. Raises ValueError."""
    if text not in ("yes", "no"):
        raise ValueError(f"'{text}' is neither yes nor no")
    return text == "yes"


class Layout(NamedTuple):
    """What it is, in a line; and its options.

    bytes_by: those that keys or values depend on, so FORMAT keeps them. others: by their values
    where nobody says.
    """

    what: str
    bytes_by: Sequence[str] = ()
    others: Mapping[str, bool] = {}

    @property
    def options(self) -> Mapping[str, Callable[[str], object]]:
        """See cdb.schemas.registry."""
        return dict.fromkeys((*self.bytes_by, *self.others), yes_or_no)


LAYOUTS: Mapping[str, Layout] = {
    "mono_space": Layout(
        "versions of each coin in one keyspace, the newest first",
        ("name32",),
        {"prefix_filter": True},
    ),
    "dual_timeline": Layout(
        "the newest version of each coin, and beside it all of them",
        ("name32",),
        {"prefix_filter": True},
    ),
    "option_1": Layout("the newest version of each coin, and a log of what each block changed"),
    "issue_196": Layout(
        "versions of each coin in one keyspace, the oldest first", (), {"prefix_filter": True}
    ),
}

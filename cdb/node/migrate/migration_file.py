"""How far a log is copied: the file MIGRATION in it.

It is written behind a flush of the log, and before a rewind. So what it says is in the log for
sure, and what the log has beyond it was cut short: it is rewound, and read again.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from cdb.contract.coins import MAX_U32
from cdb.contract.printable import shell_word
from cdb.disk.files import fsync_dir, replace_file
from cdb.disk.paths import read_own
from cdb.errors import CorruptDatabaseError, storage_errors
from cdb.node.migrate.oddities import Oddities, Oddity

_FILE = "MIGRATION"
_NOT_OURS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


@dataclass(slots=True)
class Standing:
    """height: all blocks up to there are copied; -1: none. coins: how many these confirm.

    verified: the log was held against the table, as a whole, when it was as high; -1: never, or
    before it was taken back. chain: the node's own name of the chain of that table, if it has one.
    left_out: names of coins that blocks may spend and the log has not got.
    """

    height: int = -1
    coins: int = 0
    verified: int = -1
    chain: str = ""
    oddities: Oddities = field(default_factory=Oddities)
    left_out: set[bytes] = field(default_factory=set)

    def save(self, log_path: Path) -> None:
        """Write it, durably, in one step."""
        fields = {
            "height": self.height,
            "coins": self.coins,
            "verified": self.verified,
            "chain": self.chain,
            "oddities": {oddity.name: count for oddity, count in self.oddities.items() if count},
            "left_out": sorted(name.hex() for name in [*self.left_out]),
        }
        data = json.dumps(fields, indent=1).encode() + b"\n"
        replace_file(log_path / _FILE, data, durable=True)

    @classmethod
    def read(cls, log_path: Path) -> Self | None:
        """What the file says; None where there is none. Raises CorruptDatabaseError."""
        path = log_path / _FILE
        with storage_errors(path):
            data = read_own(path)
        if data is None:
            return None
        try:
            fields = json.loads(data)
            oddities = Oddities({Oddity[name]: _whole(n) for name, n in fields["oddities"].items()})
            left_out = {bytes.fromhex(name) for name in fields["left_out"]}
            height, coins, verified = (
                _whole(fields[key]) for key in ("height", "coins", "verified")
            )
            chain = str(fields["chain"])
        except _NOT_OURS as error:
            advice = remove_copy(log_path)
            raise CorruptDatabaseError(path, "it is damaged", advice) from error
        return cls(height, coins, verified, chain, oddities, left_out)


def _whole(value: object) -> int:
    """The same; nothing is made of text, fractions or truth values. Raises ValueError."""
    if type(value) is not int:
        raise ValueError(f"{value!r} is no whole number")
    if abs(value) > MAX_U32:
        raise ValueError(f"{value} is more than any height or number of coins")
    return value


def forget(log_path: Path) -> None:
    """From now on the log is in use, and nobody's copy."""
    path = log_path / _FILE
    with storage_errors(path):
        path.unlink(missing_ok=True)
    fsync_dir(log_path)


def remove_copy(log_path: Path) -> str:
    """The advice where a copy is of no use."""
    return f"remove {shell_word(log_path)} and migrate again"

"""fjall: sorted runs of many files, which threads of its own merge; in Rust."""

from cdb.contract.limits import WRONG, Limit
from cdb.engines.engine import Engine
from cdb.engines.limits import by_halves

ENGINE = Engine(
    "fjall",
    "fjall_kv",
    "fjall",
    "cargo 1.91 or later and OpenSSL (rustup; Debian: libssl-dev, with g++ and python3-dev;"
    " Homebrew: rust and openssl)",
    with_threads=True,
    is_asked_for=True,
    language="Rust",
    folders="(data|unfinished)(/keyspaces(/[0-9]+(/tables)?)?)?",
)
_JOURNAL = "fjall takes damage in its journal for the torn end: later commits are missing"
LIMITS = (
    Limit("*", WRONG, _JOURNAL, "db/db/data/*.jnl"),
    by_halves("fjall", "db/db/data*"),
)

"""fjall: sorted runs of many files, which threads of its own merge; in Rust."""

from cdb.engines.engine import Engine

ENGINE = Engine(
    "fjall",
    "fjall_kv",
    "fjall",
    "cargo 1.91 or later and OpenSSL (rustup; Debian: libssl-dev, with g++ and python3-dev;"
    " Homebrew: rust and openssl)",
    with_threads=True,
    language="Rust",
)

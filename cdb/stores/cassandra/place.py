"""Where a chain is: the URL, and its options.

    cassandra://HOST[:PORT][,HOST…]/CHAIN[?OPTION=VALUE&…]

A file may have the same options, and the user and the password, which a URL may not: it is in
histories of shells, in lists of processes and in results.
"""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from cdb.errors import UnsupportedError, explained

USER, PASSWORD = "CDB_CASSANDRA_USER", "CDB_CASSANDRA_PASSWORD"
DEFAULT_PORT = 9042
_WITH_SECRET = (
    f"is kept by shells and shown by ps; put it into a file, ?config=FILE, or into {USER} and"
    f" {PASSWORD}"
)
CONSISTENCIES = ("quorum", "local_quorum", "all")
_is_word = re.compile(r"[A-Za-z0-9_.-]{1,48}").fullmatch
_is_keyspace = re.compile(r"[a-z][a-z0-9_]{0,47}").fullmatch


@dataclass(frozen=True, slots=True)
class Place:
    """A chain in a keyspace of a cluster.

    url: as it was given. hosts: with their ports. replication: of a keyspace that is made; 0: 3, or
    as many nodes as there are. dc: the data centre to ask; "": that of the hosts. timeout_seconds:
    of a request; patience_seconds: how long requests are repeated. tls: the file with the
    certificate to trust; cert, cert_key: one's own. takeover: also from a writer of this machine.
    """

    url: str
    hosts: tuple[tuple[str, int], ...]
    chain: str
    keyspace: str = "cdb"
    replication: int = 0
    consistency: str = "quorum"
    dc: str = ""
    timeout_seconds: float = 10.0
    patience_seconds: float = 30.0
    tls: str = ""
    cert: str = ""
    cert_key: str = ""
    takeover: bool = False
    user: str = ""
    password: str = field(default="", repr=False)


def place_of(url: str, environment: Mapping[str, str] = os.environ) -> Place:
    """Parse a URL. Raises UnsupportedError, which never quotes a password."""
    parts = urlsplit(url)
    if parts.scheme != "cassandra":
        raise UnsupportedError(f"a cluster's URL begins with cassandra://, not {parts.scheme}://")
    if "@" in parts.netloc:
        raise UnsupportedError(f"a URL with a user or a password {_WITH_SECRET}")
    chain = unquote(parts.path).strip("/")
    if not _is_word(chain):
        raise UnsupportedError(
            f"{url}: behind the hosts stands the chain's name: letters, digits, _, - and ., such as"
            " cassandra://127.0.0.1/mychain"
        )
    told = dict(parse_qsl(parts.query, keep_blank_values=True))
    secret = next((name for name in told if name in ("user", "password")), None)
    if secret is not None:
        raise UnsupportedError(f"a URL with the option {secret} {_WITH_SECRET}")
    config = told.pop("config", "")
    options = {**(_file(Path(config)) if config else {}), **told}
    secrets = {
        "user": options.pop("user", environment.get(USER, "")),
        "password": options.pop("password", environment.get(PASSWORD, "")),
    }
    place = Place(url, _hosts(url, parts.netloc), chain, **_values(url, options), **secrets)  # type: ignore[arg-type]
    if place.consistency == "local_quorum" and not place.dc:
        # That of the first host may be another one than that of who wrote it.
        raise UnsupportedError(f"{url}: consistency=local_quorum takes dc=NAME, all clients' one")
    return place


def _file(path: Path) -> dict[str, str]:
    """The options of a file of TOML. Raises UnsupportedError."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            told = tomllib.load(file)
    except OSError as error:
        raise UnsupportedError(f"{path}: {explained(error)}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # Not what is wrong: that would quote it.
        raise UnsupportedError(f"{path}: this is no TOML; write OPTION = VALUE") from error
    if "password" in told and mode & 0o077:
        raise UnsupportedError(f"{path}: others can read its password; 'chmod 600' it")
    values = {}
    for name, value in told.items():
        if not isinstance(value, str | int | float):
            raise UnsupportedError(f"{path}: option {name} is neither a text nor a number")
        values[name] = str(value)
    return values


def _hosts(url: str, netloc: str) -> tuple[tuple[str, int], ...]:
    hosts = []
    for each in netloc.split(","):
        host, colon, port = each.rpartition(":") if not each.endswith("]") else (each, "", "")
        if not colon:
            host, port = each, str(DEFAULT_PORT)
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise UnsupportedError(f"{url}: {each!r} is no HOST or HOST:PORT")
        hosts.append((host.strip("[]"), int(port)))
    return tuple(hosts)


def _values(url: str, options: Mapping[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, value in options.items():
        if name not in _OPTIONS:
            known = ", ".join([*_OPTIONS, "config"])
            raise UnsupportedError(f"{url}: no option {name!r}; there are {known}")
        to, read, wanted = _OPTIONS[name]
        try:
            values[to] = read(value)
        except ValueError as error:
            raise UnsupportedError(f"{url}: option {name} is {wanted}") from error
    return values


def _keyspace(value: str) -> str:
    if not _is_keyspace(value):
        raise ValueError
    return value


def _replication(value: str) -> int:
    if not 1 <= int(value) <= 9:
        raise ValueError
    return int(value)


def _consistency(value: str) -> str:
    if value.lower() not in CONSISTENCIES:
        raise ValueError
    return value.lower()


def _seconds(value: str) -> float:
    if not 0 < float(value) <= 3600:
        raise ValueError
    return float(value)


def _flag(value: str) -> bool:
    if value not in ("yes", "no"):
        raise ValueError
    return value == "yes"


_OPTIONS: dict[str, tuple[str, Callable[[str], object], str]] = {
    "keyspace": ("keyspace", _keyspace, "a name of a-z, 0-9 and _"),
    "replication": ("replication", _replication, "1 … 9"),
    "consistency": ("consistency", _consistency, "one of " + ", ".join(CONSISTENCIES)),
    "dc": ("dc", str, "a data centre's name"),
    "timeout": ("timeout_seconds", _seconds, "a number of seconds"),
    "patience": ("patience_seconds", _seconds, "a number of seconds"),
    "tls": ("tls", str, "a file"),
    "cert": ("cert", str, "a file"),
    "cert_key": ("cert_key", str, "a file"),
    "takeover": ("takeover", _flag, "yes or no"),
}
"""By name: the field, what reads the value, and what it is to be."""

"""Where a chain is: the URL, and its options.

    cassandra://HOST[:PORT][,HOST…]/CHAIN[?OPTION=VALUE&…]

A file may have the same options, and the user and the password, which a URL may not: it is in
histories of shells, in lists of processes and in results.
"""

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from cdb.errors import UnsupportedError, explained

USER, PASSWORD = "CDB_CASSANDRA_USER", "CDB_CASSANDRA_PASSWORD"
DEFAULT_PORT = 9042
_WITH_SECRET = (
    "a URL with a user or a password is kept by shells and shown by ps; put them into a file,"
    f" ?config=FILE, or into {USER} and {PASSWORD}"
)
_is_secret = re.compile(r"user|pass|pwd|secret|token|cred", re.IGNORECASE).match
CONSISTENCIES = ("quorum", "local_quorum", "all")
_is_word = re.compile(r"[A-Za-z0-9_.-]{1,48}").fullmatch
_is_host = re.compile(r"[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]").fullmatch
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
    """Parse a URL. Raises UnsupportedError, which never quotes a password: of what is refused it
    quotes nothing behind the chain."""
    scheme, _, _ = url.partition("://")
    if scheme.lower() != "cassandra":
        raise UnsupportedError(f"a cluster's URL begins with cassandra://, not {scheme}://")
    if "@" in unquote(url):  # wherever: a password may have a / or a ? in it
        raise UnsupportedError(_WITH_SECRET)
    shown = url.partition("?")[0].partition("#")[0]
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UnsupportedError(f"{shown}: its hosts are no HOST[:PORT][,HOST…]") from error
    told = parse_qsl(parts.query, keep_blank_values=True)
    if any(_is_secret(name) for name, _ in told):
        raise UnsupportedError(_WITH_SECRET)
    chain = unquote(parts.path).strip("/")
    if not _is_word(chain):
        raise UnsupportedError(
            f"{shown}: behind the hosts stands the chain's name: letters, digits, _, - and ., such"
            " as cassandra://127.0.0.1/mychain"
        )
    options = _options(shown, told)
    if parts.fragment:
        raise UnsupportedError(f"{shown}: a # stands in it; options begin with a ?")
    secrets = {
        "user": options.pop("user", environment.get(USER, "")),
        "password": options.pop("password", environment.get(PASSWORD, "")),
    }
    place = Place(url, _hosts(shown, parts.netloc), chain, **_values(shown, options), **secrets)  # type: ignore[arg-type]
    problem = _left_out(place)
    if problem is not None:
        raise UnsupportedError(f"{shown}: {problem}")
    return place


def _options(shown: str, told: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Those of the URL, before those of its file. Raises UnsupportedError."""
    options = dict(told)
    if len(options) < len(told):
        raise UnsupportedError(f"{shown}: an option stands there twice")
    config = options.pop("config", None)
    return options if config is None else {**_file(Path(config)), **options}


def _left_out(place: Place) -> str | None:
    """What an option needs that is not there: alone it would do nothing, and nobody would know."""
    if place.consistency == "local_quorum" and not place.dc:
        # That of the first host may be another one than that of who wrote it.
        return "consistency=local_quorum takes dc=NAME, all clients' one"
    if place.cert and not place.tls:
        return "cert takes tls=FILE, the certificate to trust"
    if place.cert_key and not place.cert:
        return "cert_key takes cert=FILE"
    if bool(place.user) != bool(place.password):
        return f"a user and a password come together: {USER} and {PASSWORD}, or both in a file"
    return None


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


def _hosts(shown: str, netloc: str) -> tuple[tuple[str, int], ...]:
    hosts = []
    for each in netloc.split(","):
        host, colon, port = each.rpartition(":") if not each.endswith("]") else (each, "", "")
        if not colon:
            host, port = each, str(DEFAULT_PORT)
        if not _is_host(host) or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise UnsupportedError(f"{shown}: {each!r} is no HOST or HOST:PORT")
        hosts.append((host.strip("[]"), int(port)))
    return tuple(hosts)


def _values(shown: str, options: Mapping[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, value in options.items():
        if name not in _OPTIONS:
            known = ", ".join([*_OPTIONS, "config"])
            raise UnsupportedError(f"{shown}: no option {name!r}; there are {known}")
        to, read, wanted = _OPTIONS[name]
        try:
            values[to] = read(value)
        except ValueError as error:
            raise UnsupportedError(f"{shown}: option {name} is {wanted}") from error
    return values


def _text(value: str) -> str:
    if not value:
        raise ValueError
    return value


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
    "dc": ("dc", _text, "a data centre's name"),
    "timeout": ("timeout_seconds", _seconds, "a number of seconds"),
    "patience": ("patience_seconds", _seconds, "a number of seconds"),
    "tls": ("tls", _text, "a file"),
    "cert": ("cert", _text, "a file"),
    "cert_key": ("cert_key", _text, "a file"),
    "takeover": ("takeover", _flag, "yes or no"),
}
"""By name: the field, what reads the value, and what it is to be."""

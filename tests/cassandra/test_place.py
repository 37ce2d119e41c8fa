"""A URL and its options: what is meant, and what is refused, in one line and without secrets."""

import re
from pathlib import Path

import pytest

from cdb.cluster.artifact import CASSANDRA
from cdb.contract.location import Url
from cdb.errors import UnsupportedError
from cdb.stores.cassandra.cql import SYNCED
from cdb.stores.cassandra.place import PASSWORD, USER, place_of
from tests.conftest import ROOT

PLAIN = "cassandra://127.0.0.1,b:9043/mychain"


def test_hosts_chain_and_options() -> None:
    place = place_of(f"{PLAIN}?keyspace=coins&consistency=local_quorum&dc=east&timeout=2.5", {})
    assert place.hosts == (("127.0.0.1", 9042), ("b", 9043))
    assert (place.chain, place.keyspace, place.dc) == ("mychain", "coins", "east")
    assert (place.consistency, place.timeout_seconds) == ("local_quorum", 2.5)
    assert place_of("cassandra://[::1]:1/c", {}).hosts == (("::1", 1),)
    assert place_of("cassandra://[::1]/c", {}).hosts == (("::1", 9042),)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("cassandra://a", "stands the chain's name"),
        ("cassandra://a/", "stands the chain's name"),
        ("cassandra://a/b/c", "stands the chain's name"),
        ("cassandra:///c", "is no HOST"),
        ("cassandra://a:x/c", "'a:x' is no HOST"),
        ("cassandra://a:70000/c", "is no HOST"),
        ("scylla://a/c", "begins with cassandra://"),
        (f"{PLAIN}?consistency=one", "consistency is one of quorum, local_quorum, all"),
        (f"{PLAIN}?consistency=local_quorum", "takes dc=NAME"),
        (f"{PLAIN}?keyspace=A-B", "keyspace is a name"),
        (f"{PLAIN}?timeout=never", "timeout is a number of seconds"),
        (f"{PLAIN}?replication=0", "replication is 1 … 9"),
        (f"{PLAIN}?takeover=maybe", "takeover is yes or no"),
        (f"{PLAIN}?colour=red", "no option 'colour'; there are keyspace"),
        (f"{PLAIN}?config=/nowhere/at-all", "/nowhere/at-all: "),
        ("cassandra://[::1/c", "its hosts are no HOST"),
        ("cassandra://[a]/c", "its hosts are no HOST"),
        ("cassandra://a b/c", "'a b' is no HOST"),
        ("cassandra://\u2100/c", "its hosts are no HOST"),
        (f"{PLAIN}#?consistency=all", "a # stands in it"),
        (f"{PLAIN}?consistency=all&consistency=quorum", "an option stands there twice"),
        (f"{PLAIN}?tls=", "tls is a file"),
        (f"{PLAIN}?config=", "name a file"),
        (f"{PLAIN}?cert=mine.pem", "cert takes tls=FILE"),
        (f"{PLAIN}?tls=a.pem&cert_key=mine.key", "cert_key takes cert=FILE"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(url: str, told: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        place_of(url, {})
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "cassandra://me:hunter2@a/c",
        "cassandra://hunter2@a/c",
        "cassandra://a/c?user=me&password=hunter2",
        "cassandra://a/c?timeout=1&password=hunter2",
        "cassandra://a/c?timeout=never&Password=hunter2",
        "cassandra://a/?password=hunter2",
        "cassandra://a:0/c?password=hunter2",
        "cassandra://me:hunter2/3@a/c",
        "cassandra://me:hunter2?3@a/c",
        "cassandra://me:hunter2#3@a/c",
        "cassandra://me:hunter2\u2100@a/c",
    ],
)
def test_a_url_with_a_password_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(UnsupportedError, match="shown by ps; put them into a file") as caught:
        place_of(url, {})
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in str(Url(url))


@pytest.mark.parametrize(
    "url",
    [
        "cassandra://me:hunter2%40a/c",
        "cassandra://a/c?passwd=hunter2",
        "cassandra://a/c?consistency=all;password=hunter2",
        "cassandra://a/c?key=hunter2",
        "cassandra://[::1/c?password=hunter2",
        "cassandra://a/c#password=hunter2",
    ],
)
def test_what_might_be_a_password_is_not_quoted(url: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        place_of(url, {})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", [USER, PASSWORD])
def test_a_user_without_a_password_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedError, match="a user and a password come together") as caught:
        place_of(PLAIN, {name: "hunter2"})
    assert "hunter2" not in str(caught.value)


def test_user_and_password_come_from_the_environment_or_a_file(tmp_path: Path) -> None:
    place = place_of(PLAIN, {USER: "me", PASSWORD: "hunter2"})
    assert (place.user, place.password) == ("me", "hunter2")
    assert "hunter2" not in repr(place)
    config = tmp_path / "options.toml"
    config.write_text('user = "you"\npassword = "hunter3"\ntimeout = 3\nkeyspace = "k"\n')
    config.chmod(0o600)
    place = place_of(f"{PLAIN}?config={config}&keyspace=mine", {USER: "me", PASSWORD: "hunter2"})
    assert (place.user, place.password) == ("you", "hunter3")
    assert (place.timeout_seconds, place.keyspace) == (3.0, "mine")
    config.chmod(0o640)
    with pytest.raises(UnsupportedError, match="others can read its password; 'chmod 600' it"):
        place_of(f"{PLAIN}?config={config}", {})


@pytest.mark.parametrize(
    ("text", "told"),
    [("password: hunter2", "this is no TOML"), ("hosts = [1]", "neither a text nor a number")],
)
def test_a_file_that_is_wrong_is_not_quoted(tmp_path: Path, text: str, told: str) -> None:
    config = tmp_path / "options.toml"
    config.write_text(text)
    config.chmod(0o600)
    with pytest.raises(UnsupportedError, match=told) as caught:
        place_of(f"{PLAIN}?config={config}", {})
    assert "hunter2" not in str(caught.value)


def test_the_url_in_the_compose_file_is_of_its_nodes() -> None:
    text = (ROOT / "docs/compose.yaml").read_text("utf-8")
    (url,) = re.findall(r"cassandra://\S+", text)
    hosts = [host for host, _ in place_of(url, {}).hosts]
    assert re.findall(r"ipv4_address: ([\d.]+)", text) == hosts
    assert re.findall(r"CASSANDRA_SEEDS: (\S+)", text) == [",".join(hosts)]
    assert CASSANDRA.startswith(*re.findall(r"image: cassandra:(\S+)", text))
    assert f"commitlog_sync: {SYNCED[-1]}" in text

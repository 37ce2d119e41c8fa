"""The contract on a cluster: 'make cluster-tests' runs these; without one they are skipped."""

from pathlib import Path
from typing import Any

import pytest

from cdb.cluster.configuration import offer_tls
from cdb.contents.state import verify
from cdb.contract.schema import Schema
from cdb.errors import CdbError, DatabaseLockedError, DatabaseNotFoundError, StorageError
from cdb.stores.cassandra.cql import CqlTables
from cdb.stores.cassandra.schema import cassandra
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import other_branch, sample_chain
from tests.cassandra.at_path import HOSTS, TLS, open_at_path, url_of
from tests.cassandra.suites import ClusterConformance, ClusterHistory, ClusterKeys
from tests.conftest import Commands

pytestmark = [
    pytest.mark.skipif(not HOSTS, reason="it needs servers; 'make cluster-tests' starts them"),
    pytest.mark.timeout(900),
]


class TestContract(ClusterConformance):
    schema = "tests.cassandra.at_path:open_at_path"


class TestHistory(ClusterHistory):
    schema = "tests.cassandra.at_path:open_at_path"
    many = 2_000


class TestKeys(ClusterKeys):
    schema = "tests.cassandra.at_path:KEYED"
    many = 2_000


@pytest.mark.parametrize("is_applied", [True, False])
def test_a_change_of_which_nobody_knows_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_applied: bool
) -> None:
    """The cluster may have made it, or not: it is read again."""
    from cassandra import OperationTimedOut

    chain = sample_chain(4)
    sent = CqlTables._sent
    unknown = 0

    class Unknown:
        """What the driver gives for a request without an answer."""

        def result(self) -> None:
            raise OperationTimedOut()

    def send(tables: CqlTables, statement: Any) -> Any:
        nonlocal unknown
        text = getattr(getattr(statement, "prepared_statement", None), "query_string", "")
        if text.startswith("UPDATE") and unknown < 3:
            unknown += 1
            if is_applied:
                sent(tables, statement).result()
            return Unknown()
        return sent(tables, statement)

    with open_at_path(tmp_path) as schema:
        monkeypatch.setattr(CqlTables, "_sent", send)
        accept_all(schema, chain.blocks)
        assert verify(schema) == expected_state(chain.blocks)
        unknown = 0
        schema.rewind_to_block_index(chain.blocks[1].index)
        monkeypatch.undo()
        assert verify(schema) == expected_state(chain.blocks[:2])
    with open_at_path(tmp_path, read_only=True) as schema:
        assert verify(schema) == expected_state(chain.blocks[:2])


def test_a_change_of_which_nobody_knows_and_that_another_writer_made_void(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cassandra import OperationTimedOut

    chain = sample_chain(4)
    sent = CqlTables._sent
    with open_at_path(tmp_path) as schema:
        accept_all(schema, chain.blocks[:3])
        has_begun = False

        def send(tables: CqlTables, statement: Any) -> Any:
            nonlocal has_begun
            text = getattr(getattr(statement, "prepared_statement", None), "query_string", "")
            if text.startswith("UPDATE") and not has_begun:
                has_begun = True
                cassandra(url_of(tmp_path, "?takeover=yes")).close()
                raise OperationTimedOut()
            return sent(tables, statement)

        monkeypatch.setattr(CqlTables, "_sent", send)
        with pytest.raises(DatabaseLockedError, match="another writer has taken it over"):
            schema.accept_block(chain.blocks[3])
        monkeypatch.undo()
    with open_at_path(tmp_path, read_only=True) as schema:
        assert verify(schema) == expected_state(chain.blocks[:3])


def test_of_two_that_open_at_once_one_is_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = sample_chain(4)
    sent = CqlTables._sent
    others: list[Schema] = []

    def send(tables: CqlTables, statement: Any) -> Any:
        text = getattr(getattr(statement, "prepared_statement", None), "query_string", "")
        if text.startswith("UPDATE") and not others:
            monkeypatch.undo()
            others.append(cassandra(url_of(tmp_path, "?takeover=yes")))
        return sent(tables, statement)

    monkeypatch.setattr(CqlTables, "_sent", send)
    with pytest.raises(DatabaseLockedError, match="another writer has taken it over"):
        cassandra(url_of(tmp_path, "?takeover=yes"))
    with others[0] as other:
        accept_all(other, chain.blocks)
        assert verify(other) == expected_state(chain.blocks)


def test_an_old_writer_that_goes_on_with_another_block_is_seen_by_nobody(tmp_path: Path) -> None:
    chain = sample_chain(12)
    kept = chain.up_to(chain.blocks[7].index)
    branch = other_branch(kept, 4)
    with open_at_path(tmp_path) as old:
        accept_all(old, kept.blocks)
        with cassandra(url_of(tmp_path, "?takeover=yes")) as new:
            accept_all(new, branch.above(kept.newest_index))
            with pytest.raises(DatabaseLockedError, match="another writer has taken it over"):
                accept_all(old, chain.above(kept.newest_index))
            assert verify(new) == expected_state(branch.blocks)
    with open_at_path(tmp_path, read_only=True) as reader:
        assert verify(reader) == expected_state(branch.blocks)


@pytest.mark.skipif(not TLS, reason="the cluster has no certificate")
def test_over_tls_it_trusts_the_certificate_that_it_is_told(
    tmp_path: Path, own_certificate: Path
) -> None:
    chain = sample_chain(4)
    with cassandra(url_of(tmp_path, f"?tls={TLS}")) as schema:
        accept_all(schema, chain.blocks)
        assert verify(schema) == expected_state(chain.blocks)
    with pytest.raises(StorageError, match="certificate verify failed"):
        cassandra(url_of(tmp_path, f"?tls={own_certificate}&patience=5"))


@pytest.fixture
def own_certificate(tmp_path: Path) -> Path:
    """Of somebody else."""
    offer_tls(tmp_path, 3)
    return tmp_path / "tls.pem"


def test_what_can_not_be_done_is_told_in_one_line(tmp_path: Path) -> None:
    for url, told in {
        url_of(tmp_path, "?keyspace=system"): "cdb tables|somebody else's|refuses",
        "cassandra://127.0.0.1:1/chain?patience=1&timeout=1": "does not answer",
        url_of(tmp_path, "?tls=/nowhere"): "TLS by /nowhere: No such file",
    }.items():
        with pytest.raises(CdbError, match=told) as caught:
            cassandra(url, read_only="keyspace" in url)
        assert "\n" not in str(caught.value)
    with pytest.raises(DatabaseNotFoundError, match="there is no such chain"):
        open_at_path(tmp_path / "never made", read_only=True)


def test_a_replay_goes_through_byte_for_byte(run_command: Commands, replay: bytes) -> None:
    url = url_of(run_command.cwd)
    loaded = run_command("load_blocks", "cassandra", "--db", url, input=replay).fine()
    assert "digest" in loaded.err
    assert run_command("dump_blocks", "cassandra", "--db", url).fine().out == replay
    assert url in run_command("info", "cassandra", url).fine().out.decode()
    run_command("verify", "cassandra", url).fine()

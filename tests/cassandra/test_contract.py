"""The contract over dictionaries in place of a cluster: all but what asks it, on any machine."""

import pytest

from tests.cassandra.fake import fake_schema
from tests.cassandra.suites import ClusterConformance, ClusterHistory, ClusterKeys


class TestContract(ClusterConformance):
    schema = fake_schema()


@pytest.mark.long
class TestHistory(ClusterHistory):
    schema = fake_schema()


@pytest.mark.long
class TestKeys(ClusterKeys):
    schema = fake_schema("puzzle_hash")

"""The contract's tests that apply to a cluster: it has no files to truncate, forge or move."""

from pathlib import Path

import pytest

from cdb.errors import DatabaseLockedError
from cdb.testing import HistoryConformance, IndexedConformance, SchemaConformance
from cdb.testing.base import SchemaTests
from cdb.testing.chains import block_at

NO_FILES = "a cluster's files are its own"
FEW_COINS = 3_000


class ClusterTests(SchemaTests):
    """What all of them have."""

    most_coins = FEW_COINS

    def at_most(self, many: int) -> int:
        """See SchemaTests."""
        return min(many, self.most_coins)


class ClusterConformance(ClusterTests, SchemaConformance):
    """The contract."""

    def test_a_second_writer_is_refused_at_once(self, path: Path) -> None:
        with self.open(path) as schema:
            schema.accept_block(block_at(1))
            with pytest.raises(DatabaseLockedError, match="another process, or another object"):
                self.open(path)
            schema.accept_block(block_at(2, 1))
        with self.open(path) as schema:
            assert schema.last_block_index == 2

    @pytest.mark.skip(NO_FILES)
    def test_a_truncated_file_is_never_served(self, path: Path, tmp_path: Path) -> None:
        """See SurvivingTests."""

    @pytest.mark.skip(NO_FILES)
    def test_what_is_not_ours_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        """See SurvivingTests."""

    @pytest.mark.skip(NO_FILES)
    def test_a_parent_directory_that_is_missing_is_an_error(self, tmp_path: Path) -> None:
        """See SurvivingTests."""

    @pytest.mark.skip(NO_FILES)
    def test_opened_read_only_it_outlives_its_directory(self, path: Path) -> None:
        """See ReadOnlyTests."""


class ClusterHistory(ClusterTests, HistoryConformance):
    """The contract of history."""


class ClusterKeys(ClusterTests, IndexedConformance):
    """The contract of secondary keys."""

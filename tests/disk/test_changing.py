"""What looks like damage beside a writer is read again; damage is told all the same."""

from pathlib import Path

import pytest

from cdb.disk.sharing import TRIES, file_marks, read_unchanged
from cdb.errors import CorruptDatabaseError


class Reading:
    """Finds damage so often. Meanwhile a writer changes a file each time, or does nothing."""

    def __init__(self, directory: Path, *, failures: int, is_beside_a_writer: bool) -> None:
        self.count = 0
        self._directory = directory
        self._failures = failures
        self._is_beside_a_writer = is_beside_a_writer

    def __call__(self) -> int:
        self.count += 1
        if self._is_beside_a_writer:
            self._directory.joinpath("log").write_bytes(bytes(self.count))
        if self.count <= self._failures:
            raise CorruptDatabaseError(self._directory, "a file is missing")
        return self.count


def read(reading: Reading, directory: Path) -> int:
    return read_unchanged(reading, lambda: file_marks(directory), CorruptDatabaseError)


def test_what_a_writer_has_changed_is_read_again(tmp_path: Path) -> None:
    assert read(Reading(tmp_path, failures=3, is_beside_a_writer=True), tmp_path) == 4


def test_damage_to_files_at_rest_is_told_at_once(tmp_path: Path) -> None:
    reading = Reading(tmp_path, failures=3, is_beside_a_writer=False)
    with pytest.raises(CorruptDatabaseError):
        read(reading, tmp_path)
    assert reading.count == 1


def test_damage_beside_a_writer_that_never_rests_is_told_in_the_end(tmp_path: Path) -> None:
    reading = Reading(tmp_path, failures=10 * TRIES, is_beside_a_writer=True)
    with pytest.raises(CorruptDatabaseError):
        read(reading, tmp_path)
    assert reading.count == TRIES

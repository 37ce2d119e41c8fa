"""What messages tell to type is what a shell makes of it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdb.contract.printable import printable, shell_word

BASH = shutil.which("bash")
NAMES = st.binary(min_size=1, max_size=20).filter(lambda name: b"\0" not in name)


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
@given(st.lists(NAMES, max_size=20))
def test_a_shell_reads_the_word_that_was_quoted(names: list[bytes]) -> None:
    """Also as it is printed, on one line, with a name of any bytes."""
    words = [printable(shell_word(os.fsdecode(name))) for name in names]
    line = "printf '%s\\0' " + " ".join(words)
    assert BASH is not None
    read = subprocess.run([BASH, "-c", line], capture_output=True, check=True).stdout
    assert read == b"".join(name + b"\0" for name in names) or not names


def test_what_can_be_printed_reads_as_it_is() -> None:
    assert shell_word(Path("my.cdb")) == "my.cdb"
    assert shell_word(Path("it's my.cdb")) == """'it'"'"'s my.cdb'"""
    assert shell_word(Path("two\nlines")) == "$'two\\x0alines'"

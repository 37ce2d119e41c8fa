"""The scanner gives the blocks and errors of read_blocks for text that fuzzing came upon."""

import os
from pathlib import Path
from random import Random

import pytest

from cdb.extensions.native import native_missing
from cdb.testing.faults.mutate import mutated
from tests.test_scanner import careful, scanned

pytestmark = pytest.mark.skipif(native_missing() is not None, reason=str(native_missing()))

CORPORA = [Path(__file__).parent / "corpus", Path(os.environ.get("CDB_FUZZ_CORPUS", os.devnull))]
TEXTS = sorted(path for corpus in CORPORA for path in corpus.glob("scan/*"))
CHANGES = int(os.environ.get("CDB_FUZZ_CHANGES", "1000"))


def test_each_text_of_the_corpus() -> None:
    assert TEXTS
    for path in TEXTS:
        text = path.read_bytes()
        assert scanned(text) == careful(text), path


def test_changed_texts() -> None:
    texts = [path.read_bytes() for path in TEXTS]
    for number in range(CHANGES):
        random = Random(number)
        text = mutated(random.choice(texts), random.choice(texts), random)
        chunk_bytes = random.randint(1, 2 * len(text) + 1)
        assert scanned(text, chunk_bytes) == careful(text), number

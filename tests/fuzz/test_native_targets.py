"""The fuzz targets of native/fuzz/ over the committed inputs; docs/fuzzing.md tells more."""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from cdb.testing.faults import scratch

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
PROGRAMS = Path(os.environ.get("CDB_FUZZ_PROGRAMS", ROOT / "build" / "fuzz" / "replay"))
MODULES = {
    "scan": "cdb.extensions._scan",
    "rocksdb": "cdb.engines._rocksdb",
    "coin_log": "cdb.stores.coin_log._coin_log",
    "layouts": "cdb",
}
TARGETS = {
    source.stem: module
    for prefix, module in MODULES.items()
    for source in sorted((ROOT / "native" / "fuzz").glob(f"{prefix}*.cpp"))
}
MOST_FILES = 200
MOST_BYTES = 500_000


@pytest.mark.parametrize("target", TARGETS)
def test_no_committed_input_breaks_a_promise(target: str) -> None:
    if find_spec(TARGETS[target]) is None:
        pytest.skip(f"{TARGETS[target]} is not built on this machine")
    program = PROGRAMS / target
    assert program.exists(), f"{program} is missing; run make native"
    inputs = sorted((CORPUS / target).iterdir())
    assert inputs
    with scratch() as directory:
        run = subprocess.run(
            [program, *inputs],
            env=os.environ | {"TMPDIR": str(directory)},
            capture_output=True,
            text=True,
        )
    *_, last = run.stdout.splitlines()
    assert run.returncode == 0, f"again: {program} {last}\n{run.stderr}"
    assert len(run.stdout.splitlines()) == len(inputs)


def test_the_corpus_is_small_and_has_inputs_of_all_targets() -> None:
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == set(TARGETS)
    assert len(files) <= MOST_FILES
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES

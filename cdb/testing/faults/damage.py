"""Bit flips: every answer of a damaged database must be right, or an error that says damage.

A flip where nothing is stored may go unnoticed, if no answer is wrong.
"""

import shutil
from pathlib import Path
from random import Random

from cdb.errors import CdbError
from cdb.schemas import find_schema
from cdb.state import verify
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError, Case, Oracle
from cdb.testing.faults.script import run
from cdb.testing.faults.trial import DATABASE

TRIAL = "flip"


def flip_bits(
    spec: str, seed: int, directory: Path, *, flips: int, only: str | None = None
) -> Coverage:
    """Flip one bit at a time of a whole database, at places of the seed's choice.

    Raises BrokenPromiseError when another state is served than the one that was stored, or a
    damaged database fails by another error than a CdbError.
    """
    info = find_schema(spec)
    whole, damaged = directory / "whole", directory / "damaged"
    whole.mkdir()
    script = Oracle(spec, seed).script
    run(script, 0, lambda: info.open(whole / DATABASE))
    files = [path for path in sorted(whole.rglob("*")) if path.is_file() and path.stat().st_size]
    random = Random(seed)  # noqa: S311 - reproducible, not secret
    made = 0
    for _ in range(flips):
        file = random.choice(files)
        bit = random.randrange(8 * file.stat().st_size)
        point = f"{file.relative_to(whole)}:{bit}"
        if only not in (None, point):
            continue
        made += 1
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(whole, damaged)
        _flip(damaged / file.relative_to(whole), bit)
        case = Case(TRIAL, spec, seed, point)
        try:
            with info.open(damaged / DATABASE) as schema:
                digest = verify(schema).digest
        except CdbError:
            continue
        except Exception as error:
            problem = f"damage gives {type(error).__name__}: {error}"
            raise BrokenPromiseError(case, problem) from error
        if digest != script.states[-1]:
            raise BrokenPromiseError(case, "damage is served")
    return Coverage(TRIAL, spec, seed, made, flips, made)


def _flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)

"""A load as it is typed: `cdb load_blocks`, from its start to its end, with its digest.

A process of its own loads the replay into another new database. The text is in the page cache.
"""

import json
import sys
from pathlib import Path

from cdb.bench import page_cache
from cdb.bench.case import Case
from cdb.bench.database import Database
from cdb.bench.stopwatch import Stopwatch
from cdb.lab.places import place
from cdb.lab.process import WorkloadError, WrongAnswerError
from cdb.lab.profile import FAST
from cdb.process.children import finished


def measure(database: Database) -> list[Case]:
    """See the module."""
    page_cache.fill(Path(database.replay))
    with place(FAST, Path(database.path).parent, 0) as there:
        watch = Stopwatch()
        words = (database.schema, "--db", str(there.directory / "db"), "--input", database.replay)
        command = (sys.executable, "-m", "cdb.cmds.load_blocks", *words, "--json")
        done = watch.time(finished, *command)
    if done.returncode:
        raise WorkloadError(done.stderr.strip().rpartition("\n")[2])
    told = json.loads(done.stdout)
    if told["digest"] != database.truth.digest:
        problem = f"its digest is {told['digest']}, and should be {database.truth.digest}"
        raise WrongAnswerError(problem)
    figures = {"wall_seconds": watch.wall_seconds, "digest_seconds": told["digest_seconds"]}
    return [Case("typed", figures=figures)]

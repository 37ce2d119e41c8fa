"""All versions into a new database, each one a durable commit, from its opening to its close.

Making keys and values is not timed. CPU is that of all threads, also between the commits.
"""

from pathlib import Path
from time import process_time, thread_time

from cdb.bench.case import Case
from cdb.bench.figures import Usage, latency_figures, on_disk
from cdb.bench.stopwatch import Stopwatch
from cdb.bench.versioned.database import Files
from cdb.lab.process import WorkloadError
from cdb.process.meter import peak_rss_bytes


def measure(files: Files) -> list[Case]:
    """See the module."""
    usage, clock, cpu, making_seconds = Usage(Path(files.path)), Stopwatch(), process_time(), 0.0
    database = clock.time(files.open, create=True)
    rows = 0
    for version in range(1, files.shape.versions + 1):
        start = thread_time()
        rows += database.prepare(version)
        making_seconds += thread_time() - start
        clock.time(database.commit)
    commits = clock.laps[1:]
    clock.time(database.close)
    figures = {
        "wall_seconds": clock.wall_seconds,
        "cpu_seconds": process_time() - cpu - making_seconds,
        "rows": rows,
        **latency_figures("commit", commits),
        **usage.figures(),
        **on_disk(files.path),
        "peak_rss_bytes": peak_rss_bytes(),
    }
    commits_wanted = files.shape.versions
    for name in ("syncs", "device_flushes"):
        seen = figures[name]
        if seen is not None and seen < commits_wanted:
            raise WorkloadError(f"{name} of {commits_wanted} commits: {seen:.0f}, so not durable")
    return [Case("write", figures=figures)]

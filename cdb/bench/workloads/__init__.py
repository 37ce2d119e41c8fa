"""The workloads: one a file, whose docstring says what is measured; see cdb.bench.case."""

WORKLOADS = (
    "load",
    "settle",
    "read_random",
    "read_sequential",
    "read_iterate",
    "latest",
    "historical",
    "archival",
    "open",
    "rewind",
    "append",
    "objects",
    "read_beside",
    "memory",
)
"""In the order in which they run, the load first. Each leaves the whole replay to the next one."""

DIGEST = "digest"
"""Checks what the database holds, after a load; it has no figures."""

"""Faults in what all schemas rest on: files, locks, paths; and in memory."""

from tests.mutants.mutant import Mutant

_DIRECTORIES = ("sqlite_v3", "sqlite_row", "flat_file", "rocks", "rocks_kv", "coin_log")
_ALL = (*_DIRECTORIES, "blockchain_v2", "memory")

BLIND = (
    Mutant(
        "other-users-files",
        "cdb/engines/own.py",
        "if status.st_uid != os.geteuid():",
        "if status.st_uid < 0:",
        16,
        "a writer refuses files that belong to another user",
        _ALL,
        blind=True,
    ),
    Mutant(
        "own-files-follow-links",
        "cdb/engines/own.py",
        "return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, _MODE)",
        "return os.open(path, flags | os.O_CLOEXEC, _MODE)",
        16,
        "inside a database nothing follows a link, one that comes between look and open included",
        _ALL,
        blind=True,
    ),
    Mutant(
        "lock-is-shared",
        "cdb/engines/lock.py",
        "fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)",
        10,
        "a second process is not let in to write",
        _ALL,
        blind=True,
    ),
    Mutant(
        "forked-child-keeps-lock",
        "cdb/engines/lock.py",
        "os.register_at_fork(after_in_child=_release_all)",
        "",
        10,
        "a child does not keep the lock when its parent is gone",
        _ALL,
        blind=True,
    ),
    Mutant(
        "forked-child-goes-on",
        "cdb/engines/shared.py",
        "shared._guard.disown()",
        "pass",
        10,
        "a forked child can't write through its parent's object",
        _ALL,
        blind=True,
    ),
    Mutant(
        "other-version-opened",
        "cdb/engines/home.py",
        "if found_version != version:",
        "if found_version < version:",
        13,
        "a newer format is refused",
        _DIRECTORIES,
        blind=True,
    ),
    Mutant(
        "failure-is-not-final",
        "cdb/engines/guard.py",
        "self._problem = str(error) or type(error).__name__",
        "pass",
        6,
        "after a write has failed the object refuses everything",
        _ALL,
        blind=True,
    ),
    Mutant(
        "replaced-name-not-synced",
        "cdb/schemas/memory.py",
        "fsync_dir(path.parent)",
        "pass",
        6,
        "nothing is promised on a file whose name a killed process may have left unsynced",
        ("memory",),
        blind=True,
    ),
)

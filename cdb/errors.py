"""The exception tree, grouped by what the caller can do about it.

    CdbError
    ├── BlockError               the block was refused; the schema is as it was before the call
    │   ├── BlockOrderError        its index is at or below the newest accepted one
    │   ├── InvalidBlockError      a field is out of range
    │   ├── UnknownCoinError       it spends a coin that does not exist
    │   ├── AlreadySpentError      it spends a coin that is spent
    │   └── DuplicateCoinError     it confirms a coin that exists
    ├── ReplayError              the replay text is wrong at one line
    ├── ChainMismatchError       replay and database, or two databases, hold different chains
    ├── InvariantError           what a database answers contradicts itself
    ├── SchemaError              the schema cannot be had
    │   ├── UnknownSchemaError     no schema of that name
    │   ├── MissingEngineError     its engine is not on this machine
    │   └── UnsupportedError       the schema does not offer what was asked
    └── DatabaseError            the database at one path
        ├── DatabaseNotFoundError  nothing is there
        ├── DatabaseLockedError    another process writes to it
        ├── WrongDatabaseError     another schema's, another version's, or nobody's we know
        ├── CorruptDatabaseError   damage was found
        ├── StorageError           the disk is full, read-only or failing
        └── DatabaseClosedError    it was closed, or failed earlier, and has to be opened again

Every message is one line that says what, where and what to do; where the system refuses something,
its errno tells what helps.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path

VERIFY = "cdb verify SCHEMA --db PATH"
"""What to type of any database; who knows which one it is names it."""


_READABLE_BITS = 128
_READABLE_BYTES = 64


def verify_advice(command: str) -> str:
    """The advice that helps with any damage. command: VERIFY, or the same with names."""
    return f"{command} says what is damaged, and --repair mends what is derived"


def reading_advice(command: str) -> str:
    """The advice where nothing can be repaired. command: as for verify_advice()."""
    return f"{command} says what can still be read"


class CdbError(Exception):
    """The base of every error that cdb raises on purpose."""


class BlockError(CdbError):
    """A block was refused. The schema is exactly as before the call.

    Attributes:
        block_index: the index of the refused block.
        coin_name: the 32-byte name of the first coin at fault, where there is one.
    """

    def __init__(self, reason: str, block_index: int, coin_name: bytes | None = None) -> None:
        self.block_index = block_index
        self.coin_name = coin_name
        coin = "" if coin_name is None else f": coin {coin_name[:_READABLE_BYTES].hex()}"
        super().__init__(f"block {brief(block_index)} refused: {reason}{coin}")


def brief(number: int) -> str:
    """The number; of one that nobody would read to its end, how long it is."""
    n_bits = number.bit_length()
    return str(number) if n_bits <= _READABLE_BITS else f"(a number of {n_bits} bits)"


class BlockOrderError(BlockError):
    """The index is at or below the newest accepted one."""


class InvalidBlockError(BlockError):
    """A field of the block is out of its range."""


class UnknownCoinError(BlockError):
    """The block spends a coin that does not exist."""


class AlreadySpentError(BlockError):
    """The block spends a coin that is spent already, or spends it twice."""


class DuplicateCoinError(BlockError):
    """The block confirms a coin that exists already, or confirms it twice."""


class ReplayError(CdbError):
    """Replay text is wrong at one line.

    Attributes:
        line: the 1-based number of that line.
    """

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        super().__init__(f"line {line}: {problem}")


class ChainMismatchError(CdbError):
    """A replay and the database that it is loaded into, or two databases, hold different chains."""


class InvariantError(CdbError):
    """The answers of a database contradict each other: its schema breaks the contract."""


class SchemaError(CdbError):
    """A schema cannot be had."""


class UnknownSchemaError(SchemaError):
    """No schema of that name is known."""


class MissingEngineError(SchemaError):
    """The schema's engine is not installed on this machine."""


class UnsupportedError(SchemaError):
    """The schema does not offer what was asked of it."""


DESCRIPTORS = "/proc/self/fd/"
_known: dict[str, str] = {}


def know_descriptor(descriptor: int, path: str | PathLike[str]) -> None:
    """Have errors name files that are reached through a directory's descriptor by this path of it.

    It stays so until the number is another directory's.
    """
    _known[str(descriptor)] = fspath(path)


def known_path(path: str | PathLike[str]) -> str:
    """The path that a user knows, also of what is reached through a descriptor."""
    text = fspath(path)
    if not text.startswith(DESCRIPTORS):
        return text
    descriptor, slash, inner = text.removeprefix(DESCRIPTORS).partition("/")
    return f"{_known[descriptor]}{slash}{inner}" if descriptor in _known else text


class DatabaseError(CdbError):
    """Something is wrong with the database at one path.

    Attributes:
        path: the file or directory concerned, as known_path() gives it.
        problem: what is wrong.
        advice: what to do, unless the problem says that too.
    """

    def __init__(self, path: str | PathLike[str], problem: str, advice: str = "") -> None:
        self.path = known_path(path)
        self.problem = problem
        self.advice = advice
        told = f"{problem}; {advice}" if advice else problem
        super().__init__(f"{self.path}: {told}")


class DatabaseNotFoundError(DatabaseError):
    """There is no database at the path."""


class DatabaseLockedError(DatabaseError):
    """Another process (or another object of this one) has the database open for writing."""


class WrongDatabaseError(DatabaseError):
    """The path holds another schema's data, another format, or something that is not ours."""


class CorruptDatabaseError(DatabaseError):
    """Damage was found in a data file. Nothing wrong was served.

    Without an advice of its own it gets the one that helps with any damage.
    """

    def __init__(self, path: str | PathLike[str], problem: str, advice: str = "") -> None:
        super().__init__(path, problem, advice or verify_advice(VERIFY))


class StorageError(DatabaseError):
    """The operating system refused a read or a write: full, read-only or failing disk."""


class DatabaseClosedError(DatabaseError):
    """The object was closed, or an earlier write failed. Open the database again."""


_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_OTHERWISE = "check the disk"
_ADVICE = {
    **dict.fromkeys(_DISK_FULL, "free some space"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "get the right to it, or run as its owner"),
    errno.EBADF: "don't close it",
    errno.EBUSY: "see what is mounted there, or who uses it",
    errno.EEXIST: "name a new path",
    errno.EFBIG: "allow larger files (ulimit -f)",
    errno.EISDIR: "name a file",
    errno.ELOOP: "mend the links",
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.ENAMETOOLONG: "name a shorter path",
    errno.ENFILE: "close other programs, which have all open files that the system allows",
    errno.ENOLCK: "name a path on a file system that has locks",
    errno.ENOENT: "see what was moved, or which link leads nowhere",
    errno.ENOMEM: "free some memory",
    errno.ENOTDIR: "see which directory of this path is a file",
    errno.EROFS: "mount it for writing, or name a path elsewhere",
}


def explained(error: OSError) -> str:
    """Why the system refused, and what to do."""
    return f"{reason_of(error)}; {advice_on(error.errno or 0)}"


def reason_of(error: OSError) -> str:
    """Why the system refused."""
    number = error.errno or 0
    reason = "disk full" if number in _DISK_FULL else error.strerror or type(error).__name__
    return f"{reason} ({errno.errorcode.get(number, 'no errno')})"


def advice_on(system_errno: int) -> str:
    """What to do when the system refuses with this error number; 0 when that is not known."""
    return _ADVICE.get(system_errno, _OTHERWISE)


def memory_problem(error: MemoryError) -> str:
    """What a command says of it."""
    return f"{error if error.args else 'out of memory'}; free some, or allow more (ulimit -v)"


def storage_error(path: Path, error: OSError) -> StorageError:
    """The StorageError that names the file and says why."""
    return StorageError(path, f"{explained(error)}, then try again")


def wrong_version(path: str | PathLike[str], found: str, known: str) -> WrongDatabaseError:
    """The error for a database, or a file of one, of another format than the one that is known."""
    problem = f"its format is {found}, and this cdb reads {known}"
    advice = "use the cdb that wrote it, or load the replay text again; a node syncs again"
    return WrongDatabaseError(path, problem, advice)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn any OSError in the block into a StorageError about path."""
    try:
        yield
    except OSError as error:
        raise storage_error(path, error) from error

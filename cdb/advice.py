"""What helps where the system refuses something: one advice for each errno."""

import errno
import os

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_OTHERWISE = "check the disk"
_ADVICE = {
    **dict.fromkeys(DISK_FULL, "free some space"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "get the right to it, or run as its owner"),
    errno.EBADF: "don't close it",
    errno.EEXIST: "name a new path",
    errno.EFBIG: "allow larger files (ulimit -f)",
    errno.EISDIR: "name a file",
    errno.ELOOP: "mend the links",
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.ENAMETOOLONG: "name a shorter path",
    errno.ENFILE: "close other programs, which have all open files that the system allows",
    errno.ENOENT: "see what was moved, or which link leads nowhere",
    errno.ENOMEM: "free some memory",
    errno.ENOTDIR: "see which directory of this path is a file",
    errno.EROFS: "mount it for writing, or name a path elsewhere",
}


def explained(error: OSError) -> str:
    """Why the system refused, and what to do."""
    number = error.errno or 0
    reason = "disk full" if number in DISK_FULL else error.strerror or type(error).__name__
    code = errno.errorcode.get(number, "no errno")
    return f"{reason} ({code}); {_ADVICE.get(number, _OTHERWISE)}"


def advice_on(message: str) -> str:
    """What to do, by a library's message, which has the system's reason somewhere in it."""
    reasons = {os.strerror(number): advice for number, advice in _ADVICE.items()}
    return next((reasons[each] for each in reasons if each in message), _OTHERWISE)

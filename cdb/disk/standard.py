"""Descriptors 0, 1 and 2 are for standard streams, also where those are closed."""

import os

_STREAMS = 3


def keep_standard_descriptors() -> None:
    """Give those that are free to /dev/null, which takes nothing.

    Else a database's file would get the number, and what anybody prints would be written into it.
    """
    for descriptor in range(_STREAMS):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)  # the lowest that is free

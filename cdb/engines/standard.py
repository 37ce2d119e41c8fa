"""Descriptors 0, 1 and 2 are for standard streams, also where those are closed."""

import os

_ABOVE = 3


def keep_standard_descriptors() -> None:
    """Give those that are free to /dev/null, which takes nothing.

    Else a database's file would get the number, and what anybody prints would be written into it.
    """
    while True:
        descriptor = os.open(os.devnull, os.O_RDONLY)  # takes the lowest number that is free
        if descriptor >= _ABOVE:
            return os.close(descriptor)
        os.set_inheritable(descriptor, True)

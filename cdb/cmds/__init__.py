"""The commands. Each is a click command of its own and runs as ``python -m cdb.cmds.NAME``."""

import os
import sys

from cdb.process.termination import end_at_interrupts

if os.path.basename(sys.argv[0]) in ("-m", "cdb"):  # noqa: PTH119 - pathlib takes a while
    # This process runs a command, and nothing is there yet that Ctrl-C could break off: it ends
    # the process at once, not somewhere in an import with a traceback. The runner takes over.
    end_at_interrupts()

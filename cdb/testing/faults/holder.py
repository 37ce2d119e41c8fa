"""Opens a database for writing, says so, and holds it until standard input ends.

python -m cdb.testing.faults.holder SCHEMA PATH
"""

import sys

from cdb.schemas import open_schema

if __name__ == "__main__":
    with open_schema(sys.argv[1], sys.argv[2]):
        sys.stdout.write("open\n")
        sys.stdout.flush()
        sys.stdin.read()

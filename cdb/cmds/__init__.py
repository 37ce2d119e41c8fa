"""The commands. Each is a click command of its own and runs as ``python -m cdb.cmds.NAME``."""

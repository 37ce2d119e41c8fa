"""Moves the coins of a node's own database into a coin log beside it, and back.

    NODE_DB        the node's SQLite file
    NODE_DB.cdb/   the coin log; MIGRATION in it says how far it is copied, until it is in use

See docs/why/node-coin-store.md.
"""

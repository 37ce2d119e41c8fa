"""chia's coin store beside cdb's: what the calls cost that a node lives by (reports/node.md).

Processes of a comparison import chia (work.py and what it calls); who starts them does not.
"""

"""chia's coin store beside cdb's: what the calls cost that a node lives by (reports/node.md).

Processes of a comparison import chia (load.py, calls.py, life.py); who starts them does not.
"""

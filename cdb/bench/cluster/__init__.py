"""The schema cassandra beside a plain client of the same cluster.

plain.py      one statement a row, one block a commit
compare.py    the same blocks, names and rewind by both, one after the other
"""

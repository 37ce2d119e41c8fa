"""Blocks and coins in a cluster of Apache Cassandra; docs/scale-out.md argues why it is right.

state.py     what counts: one row of the cluster, which a writer changes by compare-and-set
rows.py      how blocks and coins are rows, none of which is ever changed
moment.py    what is read, as of one state
known.py     what of that the rules of a block ask
queries.py   coins by puzzle hash, parent and block
backend.py   what is written: rows first, and then the state
place.py     the URL and its options
tables.py    what the cluster is asked
cql.py       asks it, by cassandra-driver
schema.py    opens
"""

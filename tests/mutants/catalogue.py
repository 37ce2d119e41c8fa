"""All faults."""

from tests.mutants import around, coin_log, history, layouts, lmdb, rocksdb, runs, shared, sqlite

_AREAS = (coin_log, rocksdb, lmdb, layouts, history, sqlite, runs, shared, around)

BLIND = tuple(mutant for area in _AREAS for mutant in area.BLIND)
"""Chosen from the specification and the code, before a look at any test."""

SEEN = tuple(mutant for area in _AREAS for mutant in area.SEEN)
"""Chosen later: most of them would have been a defect that was found from outside."""

MUTANTS = BLIND + SEEN

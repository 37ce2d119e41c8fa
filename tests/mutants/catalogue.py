"""All faults, and that each can be put in."""

from tests.mutants import around, coin_log, rocksdb, runs, shared, sqlite

BLIND = (
    *coin_log.BLIND,
    *rocksdb.BLIND,
    *sqlite.BLIND,
    *runs.BLIND,
    *shared.BLIND,
    *around.BLIND,
)

"""A coin set in RocksDB: the native store behind cdb.schemas.rocks_kv, and its promise."""

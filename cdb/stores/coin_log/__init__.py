"""The coin log: the native store behind cdb.schemas.coin_log, and what checks its files."""

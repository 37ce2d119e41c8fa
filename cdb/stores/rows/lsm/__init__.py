"""A log-structured merge tree as a name index: sorted runs, in flat files or in SQLite."""

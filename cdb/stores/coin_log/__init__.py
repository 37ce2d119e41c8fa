"""The coin log: the native store's binding, the schema over it, and what checks its files."""

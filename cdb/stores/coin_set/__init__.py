"""A coin set over an ordered key-value engine: the native kernel, its promise, and the schema."""

"""Coins in SQLite rows, the store over them, and indexes that find a row by its coin's name."""

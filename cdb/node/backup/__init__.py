"""Backups of a node's database: made, and put in place."""

"""Engines: what maps a 32-byte coin name to a row id, and stores the rows."""

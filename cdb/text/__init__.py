"""Replay text: read, written, scanned and made up."""

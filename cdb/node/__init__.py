"""The full node's own database: read as it is, or made in its form."""

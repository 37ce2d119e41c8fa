"""The full node's own table of coins: read as it is, or made in its form."""

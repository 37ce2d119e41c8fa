"""Where coins are kept; a schema names one of them, with its options."""

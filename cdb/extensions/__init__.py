"""The extension modules of native/: found, missing, and their errors raised."""

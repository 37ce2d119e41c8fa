"""What every store does with a path, its files, its lock, and those who share it."""

"""The contract in front of a backend, and what open iterators of the past need."""

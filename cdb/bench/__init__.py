"""Benchmarks: one workload a file, each a function that a fresh process runs; see docs."""

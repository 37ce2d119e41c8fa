"""Workloads of layouts and engines below the coin set, one a file, over keys of many versions."""

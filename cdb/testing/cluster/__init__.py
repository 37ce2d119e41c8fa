"""Trials of a cluster: its nodes and its writers are killed, stopped and told apart, and an oracle
outside compares what is left with what was acknowledged.

    script.py    what a writer does, from a seed: packs of blocks, and rewinds
    writer.py    a process that does it, and acknowledges each step
    oracle.py    what of it is there
    clock.py     a clock that is set while a node runs
    apart.py     a network namespace of one's own, in which links are cut
    trials.py    what is done to whom
"""

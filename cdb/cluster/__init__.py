"""A cluster of Apache Cassandra on this machine, for development: 127.0.0.1, 127.0.0.2, …

artifact.py        the jars, by Maven, of a pinned version
configuration.py   a node's files
node.py            a node's process
dev_cluster.py     all nodes: started, told apart, killed, stopped
readiness.py       whether they know each other
"""

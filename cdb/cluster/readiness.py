"""Whether nodes are ready: a port that is open says nothing. Each has to know all others, and all
the same tables."""

from typing import Any

from cdb.cluster.configuration import CQL_PORT

_SECONDS = 5.0


def schema_known_by(address: str, n_nodes: int) -> str | None:
    """The version of the schema that a node has, if it is up and knows so many nodes, all with the
    same one; else None."""
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
    from cassandra.policies import WhiteListRoundRobinPolicy
    from cassandra.query import tuple_factory

    profile = ExecutionProfile(
        WhiteListRoundRobinPolicy([address]), request_timeout=_SECONDS, row_factory=tuple_factory
    )
    cluster: Any = Cluster(
        [address],
        port=CQL_PORT,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        connect_timeout=_SECONDS,
        control_connection_timeout=_SECONDS,
        schema_metadata_enabled=False,
        token_metadata_enabled=False,
    )
    try:
        session = cluster.connect()
        ((own,),) = session.execute("SELECT schema_version FROM system.local")
        others = [
            version for (version,) in session.execute("SELECT schema_version FROM system.peers")
        ]
    except (NoHostAvailable, OSError):
        return None
    except Exception as error:  # the driver's, of a node that is going up or down
        if not type(error).__module__.startswith("cassandra"):
            raise
        return None
    finally:
        cluster.shutdown()
    return str(own) if len(others) == n_nodes - 1 and {*others} <= {own} else None

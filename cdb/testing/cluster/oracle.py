"""What a database holds of a script, told by the reference model: the oracle."""

from dataclasses import dataclass

from cdb.contents.state import verify
from cdb.contract.schema import Schema
from cdb.errors import CdbError
from cdb.stores.cassandra.schema import cassandra
from cdb.testing.cluster.script import Script


@dataclass(frozen=True, slots=True)
class Finding:
    """lost_coins: acknowledged ones that are not there. wrong: what contradicts every state that
    may be there; None if nothing. done: how many steps are there."""

    lost_coins: int = 0
    wrong: str | None = None
    done: int = 0


def examine(url: str, script: Script, acknowledged: int) -> Finding:
    """Hold a database against the script: it has all steps that were acknowledged, and perhaps the
    next one, of which nobody was told."""
    try:
        with cassandra(url, read_only=True) as schema:
            return held(schema, script, acknowledged)
    except CdbError as error:
        return Finding(wrong=str(error))


def held(schema: Schema, script: Script, acknowledged: int) -> Finding:
    """The same of an open one."""
    found, states = verify(schema), script.states
    for n_steps in (acknowledged, acknowledged + 1):
        if states[n_steps : n_steps + 1] == [found]:
            return Finding(done=n_steps)
    if found in states[:acknowledged]:
        n_steps = states.index(found)
        lost = states[acknowledged].coins - found.coins
        return Finding(lost_coins=max(1, lost), done=n_steps)
    return Finding(wrong=f"{found} is no state of seed {script.seed}")

"""What is done to a cluster and its writers. Each trial ends with all nodes up."""

import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random

from cdb.cluster.artifact import jars, java
from cdb.cluster.dev_cluster import DevCluster
from cdb.cluster.nodetool import nodetool
from cdb.contents.state import verify
from cdb.errors import CdbError, UnsupportedError
from cdb.stores.cassandra.schema import cassandra
from cdb.testing.cluster.apart import cut
from cdb.testing.cluster.clock import clock
from cdb.testing.cluster.oracle import Finding, examine
from cdb.testing.cluster.script import Script
from cdb.testing.cluster.writer import Load, start_load

LOAD_SECONDS = 240.0
SHORT, LONG = 150, 400
"""Blocks of a script."""
KEYSPACE = "cdb_trials"
PAUSE_SECONDS = 15.0
HANG_SECONDS = 45.0
"""More than a writer's patience."""
JUMPS_SECONDS = (3_600, -3_600, 0)
SNAPSHOT = "cdb"
LOOKS = 5


@dataclass
class Outcome:
    """What came of a trial. acknowledged: steps. errors: those that a writer got and should not
    have. note: what else is of interest. untried: why it can't be tried here, or ""."""

    trial: str
    seed: int
    acknowledged: int = 0
    lost_coins: int = 0
    wrong: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    slowest_seconds: float = 0.0
    seconds: float = 0.0
    note: str = ""
    untried: str = ""

    @property
    def is_fine(self) -> bool:
        """Nothing lost, nothing wrong, no error that should not have been."""
        return not (self.lost_coins or self.wrong or self.errors)

    def take(self, finding: Finding) -> None:
        """Take in what the oracle says."""
        self.lost_coins += finding.lost_coins
        if finding.wrong is not None:
            self.wrong.append(finding.wrong)

    def take_load(self, load: Load, *, may_fail: bool = False) -> None:
        """Take in how a load has gone."""
        self.acknowledged += load.done
        self.slowest_seconds = max(self.slowest_seconds, load.slowest_seconds)
        if load.error is not None and not may_fail:
            self.errors.append(load.error)
        if not load.is_over and not may_fail:
            self.errors.append(f"it hangs behind step {load.done}")


class Bench:
    """A cluster of three, a chain of its own, and a script, for one trial."""

    def __init__(self, cluster: DevCluster, outcome: Outcome, n_blocks: int) -> None:
        self.cluster = cluster
        self.outcome = outcome
        self.random = Random(outcome.seed)  # noqa: S311 - reproducible, not secret
        self.script = Script(outcome.seed, n_blocks)
        hosts = ",".join(node.address for node in cluster.nodes)
        name = f"{outcome.trial}-{outcome.seed}-{time.time_ns()}"
        self.url = f"cassandra://{hosts}/{name[:48]}?keyspace={KEYSPACE}"

    def up(self) -> None:
        """Have all nodes up and ready."""
        self.cluster.start(_silent)

    def check(self, acknowledged: int) -> Finding:
        """Ask the oracle."""
        finding = examine(self.url, self.script, acknowledged)
        self.outcome.take(finding)
        return finding

    @contextmanager
    def loading(
        self, url: str = "", *, dies_before: int = 0, begin: int = 0, seconds: float = 0.0
    ) -> Iterator[Load]:
        """A writer at work, which is killed at the end. seconds: about how long it takes at least;
        see start_load() for the others."""
        pace = seconds / len(self.script.steps)
        load = start_load(
            url or self.url, self.script, begin=begin, dies_before=dies_before, pace_seconds=pace
        )
        try:
            yield load
        finally:
            load.child.kill()

    def a_step(self, least: float = 0.1, most: float = 0.6) -> int:
        """Some step of the script."""
        return int(self.random.uniform(least, most) * len(self.script.steps))


def _silent(what: str) -> None:
    pass


def kill_a_node(bench: Bench) -> None:
    """kill -9 of one node in a load."""
    node = bench.cluster.node(bench.random.choice((1, 2, 3)))
    with bench.loading(seconds=10) as load:
        load.follow(LOAD_SECONDS, until=bench.a_step())
        node.stop(kill=True)
        load.follow(LOAD_SECONDS)
        bench.outcome.take_load(load)
        bench.outcome.note = f"node {node.number}"
        bench.check(load.done)
    bench.up()
    bench.check(load.done)


def kill_each_in_turn(bench: Bench) -> None:
    """kill -9 of each node in turn, each up again before the next, in one load."""
    with bench.loading(seconds=150) as load:
        for node in bench.cluster.nodes:
            load.follow(LOAD_SECONDS, until=load.done + len(bench.script.steps) // 8)
            node.stop(kill=True)
            load.follow(LOAD_SECONDS, until=load.done + len(bench.script.steps) // 8)
            bench.up()
        load.follow(LOAD_SECONDS)
        bench.outcome.take_load(load)
    bench.check(load.done)


def kill_the_writer(bench: Bench) -> None:
    """kill -9 of the writer between any two statements, again and again, until the script is
    done."""
    done = deaths = 0
    statement = bench.random.randint(1, 40)
    while True:
        with bench.loading(begin=done, dies_before=statement) as load:
            load.follow(LOAD_SECONDS)
            if load.error is not None or not load.is_over:
                bench.outcome.take_load(load)
                return
            done = load.done
            bench.outcome.slowest_seconds = max(bench.outcome.slowest_seconds, load.slowest_seconds)
            finding = bench.check(done) if load.is_open or done else Finding(done=0)
            if done == len(bench.script.steps) or not bench.outcome.is_fine:
                break
            done = finding.done
        deaths += 1
        statement = bench.random.randint(1, 150)
    bench.outcome.acknowledged += done
    bench.outcome.note = f"{deaths} deaths"


def kill_all(bench: Bench) -> None:
    """kill -9 of all three nodes after the last acknowledgement."""
    with bench.loading() as load:
        load.follow(LOAD_SECONDS, until=bench.a_step())
        load.end()
        bench.cluster.stop(kill=True)
        bench.outcome.take_load(load, may_fail=True)
    bench.up()
    done = bench.check(load.done).done
    with bench.loading(begin=done) as load:
        load.follow(LOAD_SECONDS)
        bench.outcome.take_load(load)
    bench.check(load.done)


def two_down(bench: Bench) -> None:
    """Two of three nodes down: each call is refused, in one line; and up again all goes on."""
    gone = bench.random.sample(bench.cluster.nodes, 2)
    with bench.loading(f"{bench.url}&patience=4&timeout=2") as load:
        load.follow(LOAD_SECONDS, until=bench.a_step())
        for node in gone:
            node.stop(kill=True)
        load.follow(LOAD_SECONDS)
        bench.outcome.take_load(load, may_fail=True)
        if load.error is None:
            bench.outcome.wrong.append("it was not refused")
        bench.outcome.note = load.error or ""
    try:
        with cassandra(f"{bench.url}&patience=3&timeout=2", read_only=True):
            bench.outcome.wrong.append("it opens")
    except CdbError:
        pass
    bench.up()
    done = bench.check(load.done).done
    with bench.loading(begin=done) as load:
        load.follow(LOAD_SECONDS)
        bench.outcome.take_load(load)
    bench.check(load.done)


def pause_a_node(bench: Bench) -> None:
    """SIGSTOP of one node in a load, and SIGCONT 45 s later."""
    node = bench.cluster.node(bench.random.choice((1, 2, 3)))
    with bench.loading(seconds=60) as load:
        load.follow(LOAD_SECONDS, until=bench.a_step(0.1, 0.3))
        node.signal(signal.SIGSTOP)
        try:
            load.follow(HANG_SECONDS)
        finally:
            node.signal(signal.SIGCONT)
        load.follow(LOAD_SECONDS)
        bench.outcome.take_load(load)
        bench.outcome.note = f"node {node.number}"
    bench.up()
    bench.check(load.done)


def cut_a_link(bench: Bench) -> None:
    """The link between two nodes cut in a load, and whole again 15 s later."""
    one, other = bench.random.sample(bench.cluster.nodes, 2)
    with bench.loading(seconds=30) as load:
        load.follow(LOAD_SECONDS, until=bench.a_step())
        with cut(one.address, other.address):
            load.follow(PAUSE_SECONDS)
        load.follow(LOAD_SECONDS)
        bench.outcome.take_load(load)
        bench.outcome.note = f"between nodes {one.number} and {other.number}"
    bench.up()
    bench.check(load.done)


def jump_a_clock(bench: Bench) -> None:
    """One node's clock an hour ahead in a load, then an hour behind, and right again."""
    node = bench.cluster.node(bench.random.choice((1, 2, 3)))
    with clock() as shown:
        node.stop()
        node.start(java(), jars(), shown.environment)
        bench.up()
        with bench.loading(seconds=30) as load:
            for seconds in JUMPS_SECONDS:
                load.follow(LOAD_SECONDS, until=load.done + len(bench.script.steps) // 4)
                shown.jump(seconds)
            load.follow(LOAD_SECONDS)
            bench.outcome.take_load(load)
            bench.outcome.note = f"node {node.number}"
        bench.check(load.done)
        node.stop()
    bench.up()
    bench.check(load.done)


def two_writers(bench: Bench) -> None:
    """A second writer takes over from one at work, and a third one from it; a reader looks on."""
    states = bench.script.states
    with ExitStack() as stack:
        old = stack.enter_context(bench.loading(seconds=40))
        old.follow(LOAD_SECONDS, until=bench.a_step(0.1, 0.3))
        for _ in range(2):
            url, begin = f"{bench.url}&takeover=yes", old.done
            new = stack.enter_context(bench.loading(url, begin=begin, seconds=40))
            new.follow(LOAD_SECONDS, until=begin + len(bench.script.steps) // 6)
            old.follow(LOAD_SECONDS)
            bench.outcome.take_load(old, may_fail=True)
            is_through = old.error is None and old.done == len(bench.script.steps)
            if not is_through and "another writer has taken it over" not in (old.error or ""):
                bench.outcome.wrong.append(f"the old writer was told: {old.error}")
            if states[new.begun] not in states[old.done : old.done + 2]:
                problem = f"step {old.done} was acknowledged, and {new.begun} taken over"
                bench.outcome.wrong.append(problem)
            _look(bench, new)
            old = new
        old.follow(LOAD_SECONDS)
        bench.outcome.take_load(old)
    bench.check(old.done)


def _look(bench: Bench, load: Load) -> None:
    """Open it again and again beside a writer: each time it holds a state of the script, none older
    than what was acknowledged before."""
    for _ in range(LOOKS):
        load.follow(0)
        acknowledged = load.done
        with cassandra(bench.url, read_only=True) as reader:
            found = verify(reader)
        if found not in bench.script.states[acknowledged:]:
            bench.outcome.wrong.append(f"a reader behind step {acknowledged} saw {found}")


def back_up_and_restore(bench: Bench) -> None:
    """A backup of all nodes while a writer works, and all nodes restored from it."""
    with bench.loading(seconds=40) as load:
        load.follow(LOAD_SECONDS, until=bench.a_step())
        before = load.done
        back_up(bench.cluster)
        load.follow(0)
        after = load.done
        load.follow(LOAD_SECONDS)
        bench.outcome.take_load(load)
    bench.cluster.stop()
    restore(bench.cluster)
    bench.up()
    with cassandra(bench.url, read_only=True) as schema:
        found = verify(schema)
    if found not in bench.script.states[before : after + 2]:
        bench.outcome.wrong.append(f"restored, it is {found}, of steps {before} … {after}")
    bench.outcome.note = f"taken between steps {before} and {after}"


def back_up(cluster: DevCluster) -> None:
    """Take snapshots of all nodes. The state first: it names no row that the others lack."""
    for tables in (["state"], ["coin", "head", "part", "keyed"]):
        for node in cluster.nodes:
            lists = ",".join(f"{KEYSPACE}.{table}" for table in tables)
            nodetool(node, "snapshot", "-t", f"{SNAPSHOT}-{tables[0]}", "-kt", lists)


def restore(cluster: DevCluster) -> None:
    """Put the snapshots of all nodes, which are stopped, in place of what they hold. Also goes what
    nodes have agreed on by compare-and-set: they would repair the state by it."""
    for node in cluster.nodes:
        shutil.rmtree(node.directory / "commitlog")
        shutil.rmtree(node.directory / "hints", ignore_errors=True)
        for table in (node.directory / "data" / "system").glob("paxos*"):
            shutil.rmtree(table)
        for table in (node.directory / "data" / KEYSPACE).iterdir():
            for file in table.iterdir():
                if file.is_file():
                    file.unlink()
            for file in table.glob(f"snapshots/{SNAPSHOT}-*/*"):
                file.rename(table / file.name)
            shutil.rmtree(table / "snapshots", ignore_errors=True)


TRIALS: Mapping[str, tuple[Callable[[Bench], None], int]] = {
    "kill-a-node": (kill_a_node, LONG),
    "kill-the-writer": (kill_the_writer, SHORT),
    "kill-all": (kill_all, SHORT),
    "two-writers": (two_writers, SHORT),
    "pause-a-node": (pause_a_node, LONG),
    "cut-a-link": (cut_a_link, LONG),
    "jump-a-clock": (jump_a_clock, LONG),
    "two-down": (two_down, SHORT),
    "kill-each-in-turn": (kill_each_in_turn, LONG),
    "back-up": (back_up_and_restore, SHORT),
}
"""By name: what is done, and the blocks of its script."""


def run_trial(cluster: DevCluster, trial: str, seed: int) -> Outcome:
    """Make one trial. What breaks it off is wrong, too; but for an interrupt."""
    outcome = Outcome(trial, seed)
    work, n_blocks = TRIALS[trial]
    begun = time.monotonic()
    try:
        bench = Bench(cluster, outcome, n_blocks)
        bench.up()
        work(bench)
    except UnsupportedError as error:
        outcome.untried = str(error)
    except (CdbError, OSError) as error:
        outcome.wrong.append(f"{type(error).__name__}: {error}")
    outcome.seconds = time.monotonic() - begun
    return outcome

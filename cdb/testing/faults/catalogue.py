"""Every kind of trial under its name: what the command, the tests and the soak choose from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from cdb.errors import SchemaError, UnsupportedError
from cdb.schemas.registry import find_schema
from cdb.testing.faults.attack import attack
from cdb.testing.faults.beside import beside
from cdb.testing.faults.calls import INTERFERENCES, interfere
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.damage_trial import DAMAGES, rot
from cdb.testing.faults.disk import FileSystem
from cdb.testing.faults.hostile import hostile
from cdb.testing.faults.kill_load import kill_load
from cdb.testing.faults.long_replay import long_replay
from cdb.testing.faults.memory_slope import memory_slope
from cdb.testing.faults.memory_slope import missing as memory_missing
from cdb.testing.faults.power import cut_power
from cdb.testing.faults.random_walk import walk
from cdb.testing.faults.readers import readers
from cdb.testing.faults.real_cuts import GROUNDS, cut_really
from cdb.testing.faults.reopened import ENDS, cut_after_reopening
from cdb.testing.faults.rivals import rivals
from cdb.testing.faults.scarcity import SHORTAGES, run_short
from cdb.testing.faults.shim import missing


class Trial(Protocol):
    """Makes one fault after the other.

    spec: the schema, as another process can find it. directory: an empty one, where everything is
    put. most: make only so many faults, a choice of the seed's. only: the name of one, as a failure
    tells it.
    Raises BrokenPromiseError, or UnsupportedError where the schema can't be tried so.
    """

    def __call__(
        self, spec: str, seed: int, directory: Path, *, most: int | None, only: str | None
    ) -> Coverage:
        """Try a schema. Returns what was covered."""
        ...


@dataclass(frozen=True)
class Kind:
    """One kind of trial.

    share: how many of its faults are made in a test; 0 leaves it to longer runs.
    missing: why it can't be made on this machine; None when it can.
    needs_disk: whether its directory may not be in memory.
    sees_calls: whether it is made of the calls that a preloaded library sees.
    """

    about: str
    trial: Trial
    share: int
    missing: Callable[[], str | None] = missing
    needs_disk: bool = False
    sees_calls: bool = False

    def make(
        self, spec: str, seed: int, directory: Path, *, most: int | None, only: str | None
    ) -> Coverage:
        """Make the trial; see Trial. Raises UnsupportedError, too, where it would see nothing."""
        if self.sees_calls and _makes_own_calls(spec):
            problem = "its engine makes system calls itself, which no preloaded library sees"
            raise UnsupportedError(f"{spec}: {problem}")
        return self.trial(spec, seed, directory, most=most, only=only)


def _makes_own_calls(spec: str) -> bool:
    try:
        return find_schema(spec).spec.makes_own_calls
    except SchemaError:  # whoever opens it is told
        return False


def _anywhere() -> None:
    return None


CATALOGUE: Mapping[str, Kind] = {
    "power-ext4": Kind(
        "the power is cut after each operation; an ordered journal",
        partial(cut_power, file_system=FileSystem.EXT4),
        15,
        sees_calls=True,
    ),
    "power-strict": Kind(
        "the same, by the letter of POSIX",
        partial(cut_power, file_system=FileSystem.STRICT),
        15,
        sees_calls=True,
    ),
    "power-unordered": Kind(
        "the same, with gaps in files",
        partial(cut_power, file_system=FileSystem.UNORDERED),
        15,
        sees_calls=True,
    ),
    **{
        name: Kind(each.about, partial(interfere, how=name), 5, sees_calls=True)
        for name, each in INTERFERENCES.items()
    },
    **{
        name: Kind(each.about, partial(rot, way=name), 5, _anywhere)
        for name, each in DAMAGES.items()
    },
    **{
        name: Kind(each.about, partial(cut_really, trial=name), 0, each.missing)
        for name, each in GROUNDS.items()
    },
    **{
        name: Kind(each.about, partial(run_short, trial=name), 0, each.missing)
        for name, each in SHORTAGES.items()
    },
    "kill-load": Kind("SIGKILL at any moment of a load", kill_load, 1, _anywhere),
    "attack": Kind("a peer that means harm: crafted coins, in masses", attack, 0, _anywhere),
    "walk": Kind("a long random walk, with kills, beside the model", walk, 60, _anywhere),
    "readers": Kind("readers that stay open, beside the model", readers, 0, _anywhere),
    "replay": Kind("a long replay ends in the model's state", long_replay, 100, _anywhere),
    "hostile": Kind("a byte of the text that is loaded is bad", hostile, 10, _anywhere),
    "beside": Kind("readers in threads and processes beside a writer", beside, 2, _anywhere),
    **{
        name: Kind(each.about, partial(cut_after_reopening, trial=name), 1, sees_calls=True)
        for name, each in ENDS.items()
    },
    "rivals": Kind("another process, or a child, writes too", rivals, 4, _anywhere),
    "memory": Kind("memory over a load of millions", memory_slope, 0, memory_missing, True),
}

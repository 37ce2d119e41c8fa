"""One schema under test: its databases, and the workloads on them, each in a fresh process."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from cdb.bench.answers import WrongAnswerError
from cdb.bench.digest import digest
from cdb.bench.load import LoadFigures, load
from cdb.bench.lookups import cold_lookups, warm_lookups
from cdb.bench.memory import limited_memory
from cdb.bench.objects import accept_objects
from cdb.bench.opening import OpenFigures, load_and_die, open_again, open_underived
from cdb.bench.plan import Plan
from cdb.bench.process import KilledError, WorkloadError, fresh, fresh_within
from cdb.bench.rewind import rewind
from cdb.bench.tip import tip
from cdb.bench.truth import Truth


@dataclass(frozen=True, slots=True)
class LimitedFigures:
    """Loads with a limit on memory and without, neither with the text in memory beforehand."""

    limited_seconds: float
    unlimited_seconds: float
    ratio: float


class Subject:
    """One schema's databases below the plan's directory, and the workloads on them."""

    def __init__(self, plan: Plan, truth: Truth, spec: str) -> None:
        self.plan = plan
        self.truth = truth
        self.spec = spec
        self._home = plan.directory / f"of-{spec.replace(':', '-')}"
        self._durability = plan.durability.value
        self._truth_dir = str(plan.directory / "truth")

    @property
    def path(self) -> str:
        """The database that stays for the workloads."""
        return str(self._home / "db")

    def load(self) -> LoadFigures:
        """Load the replay into it, anew."""
        if self._home.exists():
            shutil.rmtree(self._home)
        self._home.mkdir()
        os.sync()
        figures = fresh(load, self.spec, self.path, *self._loading)
        _check_totals(figures, self.truth)
        return figures

    def check_digest(self) -> None:
        """Raise WrongAnswerError unless it holds what the replay says."""
        held = fresh(digest, self.spec, self.path).digest
        if held != self.truth.digest:
            raise WrongAnswerError(f"its digest is {held}, and should be {self.truth.digest}")

    def workloads(self, size_bytes: int) -> dict[str, Callable[[], object]]:
        """Each leaves a database that holds the whole replay."""
        open_database = (self.spec, self.path, self._durability, self._truth_dir)
        newest, base = self.truth.newest_index, self.truth.tail_base_index
        back = self.truth.rewind_index
        return {
            "open": partial(fresh, open_again, *open_database, newest),
            "warm": partial(fresh, warm_lookups, *open_database),
            "cold": partial(fresh, cold_lookups, *open_database),
            "rewind": partial(fresh, rewind, *open_database, back, newest),
            "objects": partial(fresh, accept_objects, *open_database, base, newest),
            "tip": partial(fresh, tip, *open_database, base),
            "underived": partial(fresh, open_underived, *open_database, newest),
            "killed": self._open_killed,
            "limited": partial(self._load_limited, size_bytes // 3),
        }

    @contextmanager
    def _second(self) -> Iterator[str]:
        """Where a second database may be for the time being."""
        with TemporaryDirectory(dir=self.plan.directory) as home:
            os.sync()
            yield str(Path(home) / "db")

    @property
    def _loading(self) -> tuple[str, int, str]:
        return str(self.plan.replay), self.plan.flush_coins, self._durability

    def _open_killed(self) -> OpenFigures:
        with self._second() as path:
            try:
                fresh(load_and_die, self.spec, path, *self._loading)
            except KilledError:
                database = (self.spec, path, self._durability, self._truth_dir)
                return fresh(open_again, *database, self.truth.newest_index)
        raise WorkloadError("it was not killed")

    def _load_limited(self, limit_bytes: int) -> LimitedFigures:
        with limited_memory(limit_bytes) as group, self._second() as path:
            limited = fresh_within(group, load, self.spec, path, *self._loading, False)
        with self._second() as path:
            unlimited = fresh(load, self.spec, path, *self._loading, False)
        for figures in (limited, unlimited):
            _check_totals(figures, self.truth)
        ratio = limited.wall_seconds / unlimited.wall_seconds
        return LimitedFigures(limited.wall_seconds, unlimited.wall_seconds, ratio)


def _check_totals(figures: LoadFigures, truth: Truth) -> None:
    loaded = (figures.blocks, figures.coins, figures.spends, figures.newest_index)
    wanted = (truth.blocks, truth.coins, truth.spends, truth.newest_index)
    if loaded != wanted:
        names = "blocks, coins, spends, newest block"
        raise WrongAnswerError(f"{names}: it loaded {loaded} of {wanted}")

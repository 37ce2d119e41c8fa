"""The clock of all that is measured: laps, their sum, and CPU of what was watched alone."""

import pytest

from cdb.bench.stopwatch import Stopwatch


def test_laps_are_of_the_clock_and_cpu_of_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"wall": 0.0, "cpu": 0.0}
    monkeypatch.setattr("cdb.bench.stopwatch.perf_counter", lambda: now["wall"])
    monkeypatch.setattr("cdb.bench.stopwatch.process_time", lambda: now["cpu"])
    watch = Stopwatch()

    def work(wall: float, cpu: float) -> str:
        now["wall"] += wall
        now["cpu"] += cpu
        return "done"

    assert watch.time(work, 2.0, cpu=3.0) == "done"
    work(100.0, 100.0)  # nobody watches
    with watch.running():
        work(0.5, 0.25)
    assert [*watch.laps] == [2.0, 0.5]
    assert watch.figures() == {"wall_seconds": 2.5, "cpu_seconds": 3.25}
    assert watch.means(5, "_per_coin") == {
        "wall_microseconds_per_coin": 500_000.0,
        "cpu_microseconds_per_coin": 650_000.0,
    }

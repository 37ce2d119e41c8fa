"""Figures as texts with their units."""

import pytest

from cdb.report.units import duration, fact, label, number, rate, size, text, times


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0, "0.00 s"),
        (2.8e-7, "0.28 µs"),
        (0.0002019, "202 µs"),
        (0.0011, "1.1 ms"),
        (0.09996, "0.100 s"),
        (0.42, "0.420 s"),
        (9.996, "10.0 s"),
        (12.34, "12.3 s"),
        (59.96, "1 m 00 s"),
        (1358.2, "22 m 38 s"),
        (119.7, "2 m 00 s"),
        (3599.4, "59 m 59 s"),
        (3600, "1 h 00 m"),
        (3900, "1 h 05 m"),
        (7199.6, "2 h 00 m"),
        (3242 * 60, "54 h 02 m"),
    ],
)
def test_durations(seconds: float, written: str) -> None:
    assert duration(seconds) == written


@pytest.mark.parametrize(
    ("n_bytes", "written"),
    [
        (None, "n/a"),
        (0, "0 B"),
        (815, "815 B"),
        (999, "999 B"),
        (999.7, "1 kB"),
        (1_000, "1 kB"),
        (1_250_000, "1.25 MB"),
        (999_400, "999 kB"),
        (999_600, "1 MB"),
        (18_900_000_000, "18.9 GB"),
        (5 * 10**15, "5,000 TB"),
    ],
)
def test_sizes(n_bytes: float | None, written: str) -> None:
    assert size(n_bytes) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0"), (1234, "1,234"), (99.96, "100"), (12.34, "12.3"), (0.012345, "0.0123")],
)
def test_numbers(value: float, written: str) -> None:
    assert number(value) == written


@pytest.mark.parametrize(
    ("per_second", "written"),
    [(0, "0/s"), (8.46, "8.46/s"), (999.6, "1 k/s"), (52_300, "52.3 k/s"), (1_800_000, "1.8 M/s")],
)
def test_rates(per_second: float, written: str) -> None:
    assert rate(per_second) == written


@pytest.mark.parametrize(
    ("ratio", "written"), [(1, "×1.0"), (9.94, "×9.9"), (9.96, "×10"), (1358.2, "×1,358")]
)
def test_ratios(ratio: float, written: str) -> None:
    assert times(ratio) == written


@pytest.mark.parametrize(
    ("name", "value", "name_in_words", "written"),
    [
        ("wall_seconds", 1358.2, "wall", "22 m 38 s"),
        ("call_p99_microseconds", 1910, "call p99", "1.91 ms"),
        ("milliseconds", 109, "time", "0.109 s"),
        ("size_bytes_per_coin", 75.96, "size a coin", "76 B"),
        ("cpu_microseconds_per_coin", 0.252, "CPU a coin", "0.252 µs"),
        ("peak_rss_bytes", 312e6, "peak RSS", "312 MB"),
        ("write_bytes_per_second", 16.8e6, "write", "16.8 MB/s"),
        ("names_per_second", 1.57e6, "names/s", "1.57 M/s"),
        ("write_amplification", 1.14, "write amplification", "×1.14"),
        ("ratio", 1.93, "ratio", "×1.93"),
        ("pages_per_name", 1.5, "pages per name", "1.5"),
        ("syncs", 40, "syncs", "40"),
    ],
)
def test_the_end_of_a_name_is_its_unit(
    name: str, value: float, name_in_words: str, written: str
) -> None:
    assert (label(name), text(name, value)) == (name_in_words, written)


def test_facts_of_any_kind() -> None:
    facts: dict[str, str | float | bool | None] = {"a": None, "b": True, "c": "x", "d_bytes": 2e9}
    assert [fact(*each) for each in facts.items()] == ["n/a", "yes", "x", "2 GB"]

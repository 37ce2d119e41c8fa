"""What came of trials of a cluster, as JSON and as Markdown."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from cdb.cluster.artifact import CASSANDRA
from cdb.report.units import duration
from cdb.testing.cluster.trials import TRIALS, Outcome

VERSION = 1


def document(outcomes: Sequence[Outcome], minutes: float, about: dict[str, Any]) -> dict[str, Any]:
    """All of it. about: the machine and the software."""
    return {
        "cluster_trials": VERSION,
        "cassandra": CASSANDRA,
        "nodes": 3,
        "minutes": round(minutes, 1),
        **about,
        "outcomes": [{**asdict(each), "is_fine": each.is_fine} for each in outcomes],
    }


def markdown(outcomes: Sequence[Outcome], minutes: float, about: dict[str, Any]) -> str:
    """A page."""
    acknowledged = sum(each.acknowledged for each in outcomes)
    lost = sum(each.lost_coins for each in outcomes)
    wrong = sum(len(each.wrong) for each in outcomes)
    lines = [
        "# Trials of a cluster",
        "",
        f"`cdb cluster trials`: {len(outcomes)} trials in {minutes:.0f} minutes, Apache Cassandra"
        f" {CASSANDRA}, three nodes, three copies, QUORUM, commitlog_sync group; client and nodes"
        f" on the same machine ({', '.join(f'{name}: {value}' for name, value in about.items())}).",
        "",
        f"**{acknowledged:,} commits acknowledged, {lost:,} coins of them lost, {wrong:,} wrong"
        " answers.**",
        "",
        "| trial | what | times | commits | coins lost | wrong | errors at the caller | slowest"
        " commit |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, (work, _) in TRIALS.items():
        some = [each for each in outcomes if each.trial == name]
        what = " ".join((work.__doc__ or "").split())
        some = [each for each in some if not each.untried]
        if not some:
            why = next((each.untried for each in outcomes if each.trial == name), "")
            lines.append(f"| `{name}` | {what} {why} | 0 | | | | | |")
            continue
        sums = (
            len(some),
            sum(each.acknowledged for each in some),
            sum(each.lost_coins for each in some),
            sum(len(each.wrong) for each in some),
            sum(len(each.errors) for each in some),
        )
        slowest = duration(max(each.slowest_seconds for each in some))
        lines.append(f"| `{name}` | {what} | {' | '.join(map('{:,}'.format, sums))} | {slowest} |")
    problems = [
        f"- `{each.trial}`, seed {each.seed}: {text}"
        for each in outcomes
        for text in [*each.wrong, *each.errors]
    ]
    return "\n".join([*lines, "", *problems]).rstrip() + "\n"

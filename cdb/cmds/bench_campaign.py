"""What every bench command does: a campaign, gone on with where it was, and what came of it."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Unpack

from cdb.bench.campaign import Campaign, Experiment
from cdb.bench.case import ENDED
from cdb.bench.machine import machine_name
from cdb.bench.matrix import Matrix
from cdb.bench.results import Document, folder_of, read_results
from cdb.bench.software import software_versions
from cdb.cmds.bench_options import Where, check_free, command_line, note
from cdb.lab.process import WorkloadError
from cdb.lab.profile import Profile
from cdb.process.termination import end_at_sigterm


def run_campaign(
    command: str,
    experiment: Experiment,
    *,
    runs: int,
    profiles: Sequence[Profile],
    needed_bytes: int,
    **where: Unpack[Where],
) -> list[Document]:
    """Make all runs, each a file, and say what came of them; go on with those of a newest matrix.

    Returns them all. Raises WorkloadError when a run failed, or there is none.
    """
    settings = {
        "kind": experiment.kind,
        "contestants": list(experiment.contestants),
        "sources": list(experiment.sources),
        "experiment": experiment.settings,
        "profiles": [asdict(profile) for profile in profiles],
        "runs": runs,
        "directory": str(where["parent"].resolve()),
        "software": software_versions() | dict(experiment.software),
    }
    campaign = Campaign(
        experiment=experiment,
        matrix=Matrix.new(command_line(sys.argv, command), runs, settings),
        profiles=profiles,
        parent=where["parent"],
        results=where["results"],
        machine=where["machine"],
        note=note,
    )
    folder = where["results"] / folder_of(where["machine"] or machine_name())
    if folder.exists() and not where["restart"]:
        campaign = _resumed(campaign, read_results([folder]))
    check_free(where["parent"], needed_bytes)
    end_at_sigterm()
    _run(campaign, folder)
    return list(campaign.matrix.made.values())


def _resumed(campaign: Campaign, documents: Sequence[Document]) -> Campaign:
    """One that goes on with the newest matrix of the same settings, if that has runs to make."""
    resumed = replace(campaign, matrix=campaign.matrix.resumed(documents))
    if resumed.made() in (0, len(resumed.cells())):
        return campaign
    made = f"{resumed.made()} of {len(resumed.cells())} runs are made"
    note(f"going on with what was begun at {resumed.matrix.id}: {made}")
    return resumed


def _run(campaign: Campaign, folder: Path) -> None:
    failed = []
    several = len(campaign.experiment.sources) > 1
    try:
        for document in campaign.run():
            of = f"{document['data']['source']}, " if several else ""
            name = document["contestant"]["name"]
            failed += [f"{of}{name}: {each}" for each in _told(document, "wrong", "failed")]
            for each in _told(document, ENDED):
                note(f"{of}{name}: {each}")
    except (KeyboardInterrupt, SystemExit):
        note(f"interrupted; {_made(campaign)} in {folder}; the same command goes on from there")
        raise
    if not campaign.made():
        raise WorkloadError("nothing could be measured")
    note(f"{_made(campaign)} in {folder}; cdb report shows what they come to")
    if failed:
        raise WorkloadError("; ".join(dict.fromkeys(failed)))


def _made(campaign: Campaign) -> str:
    return f"{campaign.made()} of {len(campaign.cells())} runs are"


def _told(document: Document, *outcomes: str) -> list[str]:
    """Why cases that came out so have no figures."""
    return [
        f"{case['workload']}: {case['reason']}"
        for case in document["cases"]
        if case["outcome"] in outcomes
    ]

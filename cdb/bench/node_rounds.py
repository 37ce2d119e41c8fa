"""What the rounds of a comparison of a node's coin stores must have in common."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

STORES = ("chia", "cdb")
"""Theirs and ours, by the names that results have for them."""


def differing_answers(rounds: Sequence[Mapping[str, Any]]) -> str | None:
    """Which round answers a call otherwise than one before it; None where all answer the same."""
    told: dict[str, str] = {}
    for each in rounds:
        for case in each["cases"]:
            what = f"{case['workload']} {json.dumps(case['parameters'], sort_keys=True)}"
            answers = case["answers"]
            if answers is not None and told.setdefault(what, answers) != answers:
                who = f"{each['store']} in round {each['run']}"
                return f"{what}: the answers of {who} are others than those of a round before"
    return None

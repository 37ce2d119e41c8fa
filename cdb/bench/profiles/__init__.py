"""Profiles of machines: a place on disk and processes within its limits, made on this machine."""

from cdb.bench.profiles.places import Place, place
from cdb.bench.profiles.profile import FAST, PROFILES, SLOW, SPINNING, Profile, parse_profile
from cdb.bench.profiles.remains import remove_remains

__all__ = [
    "FAST",
    "PROFILES",
    "SLOW",
    "SPINNING",
    "Place",
    "Profile",
    "parse_profile",
    "place",
    "remove_remains",
]

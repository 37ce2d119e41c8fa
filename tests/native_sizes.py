"""Sizes of the native code that tests have to go beyond, read there: so none outgrows its test."""

import re

from tests.conftest import ROOT

_NUMBER = r"(?:u?int\d+_t|size_t)?\{?([\d']+)u?\}?"


def native_size(file: str, name: str, unit: str = "1") -> int:
    """A constant of a file below native/: a number of units there, perhaps shifted."""
    text = (ROOT / "native" / file).read_text("utf-8")
    found = re.findall(rf"\b{name} = (.+);", text)
    assert len(found) == 1, f"{file} says {len(found)} times what {name} is"
    number = re.fullmatch(rf"(?:{_NUMBER}|{unit})(?: << (\d+))?", found[0])
    assert number is not None, f"{file} says in other words what {name} is"
    return int((number[1] or "1").replace("'", "")) << int(number[2] or "0")

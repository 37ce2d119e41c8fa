"""Writes what an extension's bundled libraries are: a bill of materials, and their licences.

Usage: bill.py SOURCES DIRECTORY COMPILER VERSION LIBRARY...: SOURCES as CDB_SOURCES of
CMakeLists.txt beside this, COMPILER as CMake calls it, LIBRARY a file .toml there. Writes
sboms/bundled.cdx.json (CycloneDX 1.5) and licenses/bundled/ into DIRECTORY.
"""

import json
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple


class Part(NamedTuple):
    """Sources within a crate, as LIBRARY.toml says it.

    texts: the files of its licence. version: what finds its version in version_file, three numbers;
    as re.VERBOSE has it, and a dot stands for ends of lines, too.
    """

    crate: str
    name: str
    license: str
    texts: list[str]
    version_file: str
    version: str


def main(sources: Path, directory: Path, compiler: tuple[str, str], libraries: list[str]) -> None:
    """See the module."""
    lock = _beside("Cargo.lock")
    crates = {crate["name"]: crate for crate in lock["package"]}
    shutil.rmtree(directory, ignore_errors=True)
    name, version = compiler
    components = [_of_compiler(version)] if name == "GNU" else []
    for library in sorted(libraries):
        for part in [Part(**each) for each in _beside(f"{library}.toml")["part"]]:
            crate = crates[part.crate]
            source = sources / f"{part.crate}-{crate['version']}"
            components.append(_component(part, crate, source))
            for text in part.texts:
                copy = directory / "licenses" / "bundled" / part.name / Path(text).name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source / text, copy)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "components": components,
    }
    path = directory / "sboms" / "bundled.cdx.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(bill, indent=2) + "\n", "utf-8")


def _beside(name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / name).read_text("utf-8"))


def _of_compiler(version: str) -> dict[str, object]:
    """What g++ links in itself, statically: libstdc++ and libgcc."""
    return {
        "type": "library",
        "name": "libstdc++",
        "version": version,
        "licenses": [{"expression": "GPL-3.0-or-later WITH GCC-exception-3.1"}],
        "purl": f"pkg:generic/gcc@{version}",
    }


def _component(part: Part, crate: dict[str, str], source: Path) -> dict[str, object]:
    file = source / part.version_file
    found = re.search(part.version, file.read_text("utf-8"), re.VERBOSE | re.DOTALL)
    if found is None:
        sys.exit(f"{file} does not say which version it is")
    return {
        "type": "library",
        "name": part.name,
        "version": ".".join(found.groups()),
        "licenses": [{"expression": part.license}],
        "purl": f"pkg:cargo/{part.crate}@{crate['version']}",
        "hashes": [{"alg": "SHA-256", "content": crate["checksum"]}],
    }


if __name__ == "__main__":
    sources, directory, name, version, *libraries = sys.argv[1:]
    main(Path(sources), Path(directory), (name, version), libraries)

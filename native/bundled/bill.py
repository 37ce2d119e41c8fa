"""Writes what an extension's bundled libraries are: a bill of materials, and their licences.

Usage: bill.py SOURCES DIRECTORY COMPILER VERSION LIBRARY...: SOURCES as CDB_SOURCES of
CMakeLists.txt beside this, COMPILER as CMake calls it, LIBRARY a target there. Writes
sboms/bundled.cdx.json (CycloneDX 1.5) and licenses/bundled/ into DIRECTORY.
"""

import json
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple


class Part(NamedTuple):
    """Sources within a crate. version: a file that tells it, and how."""

    crate: str
    name: str
    license: str
    texts: tuple[str, ...]
    version: tuple[str, str]


def _defined(*names: str) -> str:
    """What finds a version that a header defines in numbers, one after the other."""
    return r"[\s\S]*?".join(rf"define\s+{name}\s+(\d+)" for name in names)


ROCKSDB = Part(
    "librocksdb-sys",
    "RocksDB",
    "Apache-2.0 AND BSD-3-Clause",
    ("rocksdb/LICENSE.Apache", "rocksdb/LICENSE.leveldb"),
    (
        "rocksdb/include/rocksdb/version.h",
        _defined("ROCKSDB_MAJOR", "ROCKSDB_MINOR", "ROCKSDB_PATCH"),
    ),
)
SNAPPY = Part(
    "librocksdb-sys",
    "Snappy",
    "BSD-3-Clause",
    ("snappy/COPYING",),
    ("snappy/CMakeLists.txt", r"project\(Snappy VERSION (\d+)\.(\d+)\.(\d+)"),
)
ZSTD = Part(
    "zstd-sys",
    "Zstandard",
    "BSD-3-Clause",
    ("zstd/LICENSE",),
    (
        "zstd/lib/zstd.h",
        _defined("ZSTD_VERSION_MAJOR", "ZSTD_VERSION_MINOR", "ZSTD_VERSION_RELEASE"),
    ),
)
LZ4 = Part(
    "lz4-sys",
    "LZ4",
    "BSD-2-Clause",
    ("liblz4/lib/LICENSE",),
    (
        "liblz4/lib/lz4.h",
        _defined("LZ4_VERSION_MAJOR", "LZ4_VERSION_MINOR", "LZ4_VERSION_RELEASE"),
    ),
)
LMDB = Part(
    "lmdb-master-sys",
    "LMDB",
    "OLDAP-2.8",
    ("lmdb/libraries/liblmdb/LICENSE", "lmdb/libraries/liblmdb/COPYRIGHT"),
    (
        "lmdb/libraries/liblmdb/lmdb.h",
        _defined("MDB_VERSION_MAJOR", "MDB_VERSION_MINOR", "MDB_VERSION_PATCH"),
    ),
)
MDBX = Part(
    "mdbx-sys",
    "MDBX",
    "Apache-2.0",
    ("libmdbx/LICENSE", "libmdbx/NOTICE"),
    ("libmdbx/mdbx.c", r"mdbx_version = \{\s*(\d+),\s*(\d+),\s*(\d+)"),
)
SQLITE = Part(
    "libsqlite3-sys",
    "SQLite",
    "blessing",
    ("LICENSE",),
    ("sqlite3/sqlite3.h", r'define SQLITE_VERSION +"(\d+)\.(\d+)\.(\d+)"'),
)
AWS_LC = Part(
    "aws-lc-sys",
    "AWS-LC",
    "Apache-2.0 AND OpenSSL",
    ("aws-lc/LICENSE",),
    ("aws-lc/include/openssl/base.h", r'AWSLC_VERSION_NUMBER_STRING "(\d+)\.(\d+)\.(\d+)"'),
)
XXHASH = Part(
    "xxhash-c-sys",
    "xxHash",
    "BSD-2-Clause",
    ("src/c/LICENSE",),
    ("src/c/xxhash.h", _defined("XXH_VERSION_MAJOR", "XXH_VERSION_MINOR", "XXH_VERSION_RELEASE")),
)
PARTS = {
    "rocksdb": (ROCKSDB, SNAPPY, ZSTD, LZ4),
    "lmdb": (LMDB,),
    "mdbx": (MDBX,),
    "sqlite": (SQLITE,),
    "sha256": (AWS_LC,),
    "xxhash": (XXHASH,),
}


def main(sources: Path, directory: Path, compiler: tuple[str, str], libraries: list[str]) -> None:
    """See the module."""
    lock = tomllib.loads((Path(__file__).parent / "Cargo.lock").read_text("utf-8"))
    crates = {crate["name"]: crate for crate in lock["package"]}
    shutil.rmtree(directory, ignore_errors=True)
    name, version = compiler
    components = [_of_compiler(version)] if name == "GNU" else []
    for library in sorted(libraries):
        for part in PARTS[library]:
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
    file, pattern = part.version
    found = re.search(pattern, (source / file).read_text("utf-8"))
    if found is None:
        sys.exit(f"{source / file} does not say which version it is")
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

"""Cassandra's jars, fetched once by Maven; and a Java that runs them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from cdb.errors import MissingEngineError, StorageError, storage_errors

CASSANDRA = "5.0.9"
JAVA = 17
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>cdb</groupId><artifactId>cluster</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId>
    <version>{CASSANDRA}</version>
  </dependency></dependencies>
</project>
"""


def java() -> str:
    """The program. Raises MissingEngineError where there is none that runs Cassandra."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    advice = f"install Java {JAVA} (Debian: openjdk-{JAVA}-jre-headless)"
    if program is None:
        raise MissingEngineError(f"a cluster needs Java, and there is none; {advice}")
    told = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    found = re.search(r'version "(\d+)', told.stderr + told.stdout)
    if found is None or int(found[1]) != JAVA:
        version = f"version {found[1]}" if found else "of no known version"
        raise MissingEngineError(
            f"Cassandra {CASSANDRA} runs on Java {JAVA}, and {program} is {version}; {advice}"
        )
    return program


def jars() -> Path:
    """The directory with the jars, fetched if it is not there yet.

    Raises MissingEngineError without Maven, and StorageError where it fetches nothing.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cdb"
    ready = cache / f"cassandra-{CASSANDRA}"
    if ready.is_dir():
        return ready
    maven = shutil.which("mvn")
    if maven is None:
        problem = "Cassandra's jars are fetched by Maven, and there is no mvn"
        raise MissingEngineError(f"{problem}; install it (Debian: maven)")
    making = cache / f"cassandra-{CASSANDRA}.{os.getpid()}"
    with storage_errors(making):
        making.mkdir(parents=True)
        (making / "pom.xml").write_text(_POM)
    goal = [f"{_PLUGIN}:copy-dependencies", f"-DoutputDirectory={making}", "-DincludeScope=runtime"]
    command = [maven, "--batch-mode", "--quiet", f"--file={making / 'pom.xml'}", *goal]
    told = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if told.returncode:
        shutil.rmtree(making, ignore_errors=True)
        said = next((line for line in told.stdout.splitlines() if "ERROR" in line), "no reason")
        raise StorageError(ready, f"Maven fetches no Cassandra {CASSANDRA}: {said}")
    with storage_errors(ready):
        making.rename(ready)
    return ready

"""A node whose clock is set, while it runs: by a library that is made here and preloaded.

Under libfaketime Cassandra hangs, and with its FAKETIME_DONT_FAKE_MONOTONIC Java's waits end too
early or too late. This one shifts what a program is told of the time of day, and nothing else.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from tempfile import TemporaryDirectory

from cdb.errors import StorageError, UnsupportedError
from cdb.process.children import finished

_AHEAD = Struct("=q")
_VARIABLE = "CDB_CLOCK_AHEAD"
_SOURCE = f"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t none = 0;
static const volatile int64_t* ahead = &none;
static int (*real)(clockid_t, struct timespec*);

__attribute__((constructor)) static void begin(void) {{
  real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const char* name = getenv("{_VARIABLE}");
  int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void* shared = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
  if (shared != MAP_FAILED) ahead = shared;
  close(file);
}}

int clock_gettime(clockid_t clock, struct timespec* now) {{
  if (!real) begin();
  int failed = real(clock, now);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *ahead;
  return failed;
}}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {{
  (void)zone;
  struct timespec found;
  if (clock_gettime(CLOCK_REALTIME, &found)) return -1;
  now->tv_sec = found.tv_sec;
  now->tv_usec = found.tv_nsec / 1000;
  return 0;
}}
"""


@dataclass(frozen=True, slots=True)
class Clock:
    """environment: what a process is started with that has this clock."""

    environment: Mapping[str, str]
    _file: Path

    def jump(self, seconds: int) -> None:
        """Be so far ahead of the time of day from now on; or behind it, if negative."""
        with self._file.open("r+b") as file:
            file.write(_AHEAD.pack(seconds))


@contextmanager
def clock() -> Iterator[Clock]:
    """A clock, right at first. Raises UnsupportedError where there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise UnsupportedError("a clock is set by a library that is made here, and there is no cc")
    with TemporaryDirectory(prefix="cdb-clock-") as directory:
        source, library = Path(directory, "clock.c"), Path(directory, "clock.so")
        source.write_text(_SOURCE)
        told = finished(
            compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"
        )
        if told.returncode:
            raise StorageError(source, "cc does not make the clock's library")
        file = Path(directory, "ahead")
        file.write_bytes(_AHEAD.pack(0))
        yield Clock({"LD_PRELOAD": str(library), _VARIABLE: str(file)}, file)

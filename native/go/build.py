"""Builds the library, with copies of some of its modules in which something is changed.

What ends the process there is an error here.

    python build.py DIRECTORY COMMAND of go build ...

DIRECTORY is where the copies go. Each change has to fit: another version of a module that is not as
this expects it can't be built.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ALLOCATE = """

// Space that is not there is an error now, and no SIGBUS where the mapping is written to.
func allocate(fd *os.File, size int64) error {
	err := syscall.Fallocate(int(fd.Fd()), 0, 0, size)
	if err == syscall.EOPNOTSUPP {
		return fd.Truncate(size)
	}
	if err != nil {
		return &os.PathError{Op: "fallocate", Path: fd.Name(), Err: err}
	}
	return nil
}
"""
DIED = """

// What ends the process, unless somebody puts another end in its place.
var Died = log.Fatalf
"""
LIMITED = """

// What damage has made of pages may lead in a circle.
func (c *Cursor) limited() []elemRef {
	if len(c.stack) > 100 {
		panic("its pages lead in a circle")
	}
	return c.stack
}
"""
DAMAGED_TABLE = """\t\t\tdefer func() {
\t\t\t\tif thrown := recover(); thrown != nil { // it is of a damaged table
\t\t\t\t\trerr = fmt.Errorf("Opening table: %q: %v", fname, thrown)
\t\t\t\t}
\t\t\t\tthrottle.Done(rerr)
"""
CHANGES = {
    ("github.com/dgraph-io/ristretto/v2", "z/file.go"): (
        {
            "err := fd.Truncate(int64(sz))": "err := allocate(fd, int64(sz))",
            '\t"path/filepath"\n': '\t"path/filepath"\n\t"syscall"\n',
        },
        ALLOCATE,
    ),
    ("github.com/dgraph-io/badger/v4", "y/error.go"): ({"\t\tlog.Fatalf(": "\t\tDied("}, DIED),
    ("github.com/dgraph-io/badger/v4", "levels.go"): (
        {"\t\t\tdefer func() {\n\t\t\t\tthrottle.Done(rerr)\n": DAMAGED_TABLE},
        "",
    ),
    # Pages that were made and freed between two transactions of this process: those that other
    # processes began between them may show them.
    ("go.etcd.io/bbolt", "internal/freelist/shared.go"): (
        {
            "t.releaseRange(minid, tid-1)": "",
            "t.releaseRange(minid, common.Txid(math.MaxUint64))": "",
        },
        "",
    ),
    ("go.etcd.io/bbolt", "cursor.go"): (
        {"c.stack = append(c.stack, ": "c.stack = append(c.limited(), "},
        LIMITED,
    ),
}


def run(line: list[str], **options: Any) -> str:
    """Run what CMake has found, and give what it prints to a pipe."""
    done = subprocess.run(line, check=True, text=True, **options)  # noqa: S603
    return str(done.stdout)


def main(directory: Path, command: list[str]) -> None:
    at = command.index("build")
    go = command[:at]
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    module_file = Path("go.mod").read_text("utf-8")
    for module in dict.fromkeys(module for module, _ in CHANGES):
        run([*go, "mod", "download", module])
        there = run([*go, "list", "-m", "-f", "{{.Dir}}", module], stdout=subprocess.PIPE).strip()
        copy = directory / module.replace("/", "_")
        shutil.copytree(there, copy, copy_function=shutil.copyfile)
        for folder in [copy, *copy.rglob("*/")]:
            folder.chmod(0o755)  # modules are kept read-only
        module_file += f"\nreplace {module} => {copy}\n"
    for (module, name), (edits, added) in CHANGES.items():
        copy = directory / module.replace("/", "_")
        text = (copy / name).read_text("utf-8")
        for old, new in edits.items():
            if old not in text:
                sys.exit(f"{module} {name} has no {old!r}: look at {__file__}")
            text = text.replace(old, new)
        (copy / name).write_text(text + added, "utf-8")
    (directory / "go.mod").write_text(module_file, "utf-8")
    shutil.copyfile("go.sum", directory / "go.sum")
    changed = f"-modfile={directory / 'go.mod'}"
    run([*command[: at + 1], changed, *command[at + 1 :]])


main(Path(sys.argv[1]), sys.argv[2:])

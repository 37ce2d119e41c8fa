"""Builds the library, with copies of some of its modules in which something is changed.

What ends the process there is an error here, and what is lost there without a word is one, too.

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
RESIZE = """

// What is added is there, as it is in a new file.
func (m *MmapFile) resize(size int64) error {
	if size > int64(len(m.Data)) {
		return allocate(m.Fd, size)
	}
	return m.Fd.Truncate(size)
}
"""
KEEP = """

func (t *Throttle) keep(err error) {
	select {
	case t.errCh <- err:
	default: // others are there
	}
}
"""
NEXT_MEMTABLE = """\tnext, err := db.newMemTable()
\tif err != nil {
\t\treturn y.Wrapf(err, "cannot create new mem table")
\t}
\tfor {
\t\tselect {
\t\tcase db.flushChan <- db.mt:
"""
MADE_LATE = """\t\t\tdb.mt, err = db.newMemTable()
\t\t\tif err != nil {
\t\t\t\treturn y.Wrapf(err, "cannot create new mem table")
\t\t\t}
"""
LOCKED_MANIFEST = "\tdefer mf.appendLock.Unlock()\n"
MANIFEST_WRITES = (
    "\t\tif err := mf.rewrite(); err != nil {\n",
    "\t\tif _, err := mf.fp.Write(buf); err != nil {\n",
)
FAILS = "\t\t\treturn mf.failed(err, opt)\n"
FAILED_MANIFEST = """

// What a failed write has left is unknown: nothing may follow it, and no table may go because of
// it. The logger does not come back.
func (mf *manifestFile) failed(err error, opt Options) error {
	opt.Errorf("the manifest cannot be written: %v", err)
	return err
}
"""
THROWN_BLOCK = """

// A block that cannot be read is thrown. Who reads through an iterator does not ask for its error,
// and takes it for the table's end.
func (t *Table) block(idx int, useCache bool) (*Block, error) {
	block, err := t.readBlock(idx, useCache)
	if err != nil {
		panic(fmt.Sprintf("block %d of %s: %v", idx, filepath.Base(t.Filename()), err))
	}
	return block, nil
}
"""
BIGGEST = """\tlast, err := t.readBlock(t.offsetsLength()-1, false)
\tif err != nil {
\t\treturn y.Wrapf(err, "failed to initialize biggest for table %s", t.Filename())
\t}
\tlast.decrRef()
\tit2 := t.NewIterator(REVERSED | NOCACHE)
"""
MERGE = """\t\t\tvar err error
\t\t\tdefer func() {
\t\t\t\tif thrown := recover(); thrown != nil { // a block that cannot be read
\t\t\t\t\terr = fmt.Errorf("%v", thrown)
\t\t\t\t}
\t\t\t\tinflightBuilders.Done(err)
\t\t\t}()
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
    ("github.com/dgraph-io/ristretto/v2", "z/file_linux.go"): (
        {"m.Fd.Truncate(maxSz)": "m.resize(maxSz)"},
        RESIZE,
    ),
    ("github.com/dgraph-io/badger/v4", "y/error.go"): ({"\t\tlog.Fatalf(": "\t\tDied("}, DIED),
    # A worker's error is not forgotten with who meets it first, and no worker waits to tell it.
    ("github.com/dgraph-io/badger/v4", "y/y.go"): (
        {
            "\t\t\t\treturn err\n": "\t\t\t\tt.keep(err)\n\t\t\t\treturn err\n",
            "\t\tt.errCh <- err\n": "\t\tt.keep(err)\n",
        },
        KEEP,
    ),
    ("github.com/dgraph-io/badger/v4", "levels.go"): (
        {
            "\t\t\tdefer func() {\n\t\t\t\tthrottle.Done(rerr)\n": DAMAGED_TABLE,
            # As it was, the error was asked for before there was one, and the table was left out.
            "defer inflightBuilders.Done(err)": "defer func() { inflightBuilders.Done(err) }()",
            "\t\t\tdefer inflightBuilders.Done(nil)\n": MERGE,
            'y.Wrapf(err, "while running compactions for: %+v", cd)': (
                'y.Wrap(err, "while merging tables")'
            ),
        },
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
    # A memtable that cannot be made leaves the one before, and says so without the lock.
    ("github.com/dgraph-io/badger/v4", "db.go"): (
        {
            "\tfor {\n\t\tselect {\n\t\tcase db.flushChan <- db.mt:\n": NEXT_MEMTABLE,
            MADE_LATE: "\t\t\tdb.mt = next\n",
        },
        "",
    ),
    ("github.com/dgraph-io/badger/v4", "memtable.go"): (
        {'\t\tdb.opt.Errorf("Got error: %v for id: %d\\n", err, db.nextMemFid)\n': ""},
        "",
    ),
    ("github.com/dgraph-io/badger/v4", "manifest.go"): (
        {
            LOCKED_MANIFEST: LOCKED_MANIFEST + '\topt.Debugf("Writing the manifest")\n',
            **{f"{each}\t\t\treturn err\n": f"{each}{FAILS}" for each in MANIFEST_WRITES},
            "\treturn syncFunc(mf.fp)\n": f"\tif err := syncFunc(mf.fp); err != nil {{\n{FAILS}"
            "\t}\n\treturn nil\n",
        },
        FAILED_MANIFEST,
    ),
    ("github.com/dgraph-io/badger/v4", "table/table.go"): (
        {
            "func (t *Table) block(": "func (t *Table) readBlock(",
            "\tit2 := t.NewIterator(REVERSED | NOCACHE)\n": BIGGEST,
        },
        THROWN_BLOCK,
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

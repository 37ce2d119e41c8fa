package main

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"go.etcd.io/bbolt"
)

// #include "cdb_ordered_kv.h"
import "C"

// Pages that a writer keeps for those who have opened the database only to read it, whom bbolt does not
// know. They hold a flock of the file "readers", and the writer a read transaction, which is renewed
// after a commit only while nobody holds the flock. "readers" says since which transaction it keeps them.
const readersFile = "readers"

type keptPages struct {
	file   *os.File
	oldest *bbolt.Tx
}

func keepPages(directory string, db *bbolt.DB) (*keptPages, error) {
	file, err := os.OpenFile(filepath.Join(directory, readersFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	kept := &keptPages{file: file}
	if kept.oldest, err = db.Begin(false); err != nil {
		return kept, err
	}
	// Not synced: it is for those who live.
	_, err = file.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(kept.oldest.ID())), 0)
	return kept, err
}

func (kept *keptPages) renewIfNobodyReads(db *bbolt.DB) (err error) {
	descriptor := int(kept.file.Fd())
	if syscall.Flock(descriptor, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil
	}
	_ = kept.oldest.Rollback()
	kept.oldest, err = db.Begin(false)
	return errors.Join(err, syscall.Flock(descriptor, syscall.LOCK_UN))
}

func (kept *keptPages) close() {
	if kept == nil {
		return
	}
	if kept.oldest != nil {
		_ = kept.oldest.Rollback()
	}
	_ = kept.file.Close()
}

// Of a reader. Without the file, as in a copy that lacks it, nobody keeps anything, and the first
// writer ends it.
type seenPages struct {
	path  string
	file  *os.File
	since uint64
}

func seePages(directory string) (*seenPages, error) {
	seen := &seenPages{path: filepath.Join(directory, readersFile)}
	file, err := os.Open(seen.path)
	if err == nil {
		seen.file = file
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH)
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	seen.since = seen.now()
	return seen, err
}

func (seen *seenPages) close() {
	if seen != nil && seen.file != nil {
		_ = seen.file.Close()
	}
}

func (seen *seenPages) now() uint64 {
	there, err := os.Stat(seen.path)
	if seen.file == nil {
		if err == nil {
			return math.MaxUint64
		}
		return 0
	}
	// Of another file a writer can't know that ours is locked.
	if ours, failed := seen.file.Stat(); err == nil && failed == nil && !os.SameFile(ours, there) {
		return math.MaxUint64
	}
	var since [8]byte
	if _, err := seen.file.ReadAt(since[:], 0); err != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(since[:])
}

// What was read before counts only if it was kept until now.
func (seen *seenPages) check(tx *bbolt.Tx) error {
	if seen == nil {
		return nil
	}
	if now := seen.now(); now != seen.since && now > uint64(tx.ID()) {
		return &failure{status: C.CDB_REWOUND, what: "a writer that came later does not keep what it shows", advice: "open it again"}
	}
	return nil
}

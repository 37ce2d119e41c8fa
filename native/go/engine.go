package main

// #include "cdb_ordered_kv.h"
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// The engines of this library, by the names that they have in native/CMakeLists.txt.
var engines = map[string]struct {
	library string // to people
	module  string
	open    func(path string, wanted wanted) (database, error)
}{
	"badger": {"Badger", "github.com/dgraph-io/badger/v4", openBadger},
	"bbolt":  {"bbolt", "go.etcd.io/bbolt", openBbolt},
	"pebble": {"Pebble", "github.com/cockroachdb/pebble/v2", openPebble},
}

// How a database is opened; see okv_options.
type wanted struct {
	create, isReadOnly, isSynced bool // isSynced: most commits are to survive power loss
	cacheBytes, memtableBytes    int64
	spaces                       []space
	late                         int // of the spaces, so many of the last ones may be missing
}

type space struct {
	name                     string
	isRandom, isUnfiltered   bool
	prefixBytes, suffixBytes int
}

// What an engine is to face.go; see cdb_ordered_kv.h. Commits, ingests, checkpoints, settles and the
// closing come one at a time, and none of the first after one has failed.
type database interface {
	commit(done batch, isSynced bool) error
	newRun(space uint8) (run, error)
	ingest(full []run) error
	begin(lasts bool) (view, error) // unless it lasts, one cursor is taken of it
	stats() (sequence, ingests, spaces uint64, err error)
	checkpoint() error
	settle() error
	verify() error
	close(hasFailed bool) error
}

// Entries of a space that ascend.
type run interface {
	add(keys, values items) error
	finish() error
	free()
	isEmpty() bool
}

// One moment of all spaces.
type view interface {
	cursor(space uint8, fillCache bool) (cursor, error)
	check() error // whether what was read from it counts
	end()
}

// A place in a space. What key() and value() give is good until it moves.
type cursor interface {
	find(key []byte) (value []byte, isThere bool, err error) // and its place is anywhere
	seek(key []byte) bool                                    // the first entry at or behind it
	seekLike(key []byte) bool                                // the same, if that has the prefix which its space is for
	seekBefore(key []byte) bool                              // the last one before it; nil: of all
	next() bool
	previous() bool
	key() []byte
	value() ([]byte, error)
	failed() error   // why there is no entry
	end(isWell bool) // isWell: nothing failed since it was made
}

// The fields of a cdb_error.
type failure struct {
	status             C.cdb_status
	file, what, advice string
	errno              syscall.Errno
}

func (failed *failure) Error() string { return failed.what }

func damage(file, what string) error {
	return &failure{status: C.CDB_CORRUPT, file: file, what: what}
}

// What body returns or panics with.
func caught(body func() error) (err error) {
	defer func() {
		switch thrown := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			err = &failure{status: C.CDB_IO, what: "a part of it cannot be read, or it was shortened"}
		case runtime.Error:
			err = damage("", fmt.Sprintf("what is read makes no sense (%v)", thrown))
		case error:
			err = thrown
		default:
			err = damage("", fmt.Sprintf("what is read makes no sense (%v)", thrown))
		}
	}()
	return body()
}

// What an error of an engine or of the system is to a caller.
func failureOf(err error) *failure {
	var told *failure
	if errors.As(err, &told) {
		return told
	}
	var path *fs.PathError
	file := ""
	if errors.As(err, &path) {
		file = filepath.Base(path.Path)
	}
	errno := errnoIn(err)
	switch {
	case errno == 0:
		return &failure{status: C.CDB_FAILED, file: file, what: err.Error(), advice: "open it again"}
	case errno == syscall.ENOSPC || errno == syscall.EDQUOT:
		return &failure{status: C.CDB_NO_SPACE, file: file, what: "the disk is full (" + err.Error() + ")", errno: errno}
	case errno == syscall.ENOMEM:
		return &failure{status: C.CDB_NO_MEMORY, file: file, what: err.Error(), errno: errno}
	}
	return &failure{status: C.CDB_IO, file: file, what: "reading or writing failed (" + err.Error() + ")", errno: errno}
}

// Why the system refused: among the error's fields, or in its text, where a library has kept no more.
func errnoIn(err error) syscall.Errno {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	text := err.Error()
	for _, each := range []syscall.Errno{syscall.EDQUOT, syscall.EFBIG, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOSPC, syscall.EROFS} {
		if strings.Contains(text, each.Error()) {
			return each
		}
	}
	return 0
}

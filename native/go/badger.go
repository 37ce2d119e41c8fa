package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/y"
)

// #include "cdb_ordered_kv.h"
import "C"

// Badger has one space of keys: a byte in front of each says which of ours it is in. A commit is a
// version: its number is that of the write, and readers see those up to the last whole one. So what has
// more entries than a transaction of Badger may have becomes visible in one step, too; after a crash
// the file "redo" has the rest of it (badger_redo.go).

// No transaction takes a value that is longer.
const badgerValueBytes = 1 << 20

// Each write has the key sequenceKey, too: of others the newest version may go, with what it deletes.
var isWritten = []byte{1}

type badgerDB struct {
	*doom
	directory string
	db        *badger.DB
	copied    *badgerCopy // of a reader
	spaces    []space
	ingests   uint64

	mutex   sync.Mutex
	version uint64         // of the last whole write
	views   map[uint64]int // how many are open of a version
	isOpen  atomic.Bool
}

// What Badger only logs is the end where the system is the reason, or where it would try again for ever. An
// opening that fails says so itself.
type badgerLog struct {
	*doom
	isOpen *atomic.Bool
}

func (log badgerLog) Errorf(format string, all ...any) {
	for _, each := range all {
		err, is := each.(error)
		switch {
		case !is:
		case strings.HasPrefix(format, "the manifest"):
			log.die(err)
		case !log.isOpen.Load():
		case errnoIn(err) != 0:
			log.die(err)
		case strings.HasSuffix(format, "retrying"): // such as of a table whose directory is gone
			log.die(&failure{status: C.CDB_IO, what: "a table cannot be written (" + err.Error() + ")"})
		case strings.Contains(format, "FAILED"): // a merge, of a damaged table
			log.die(badgerFailure(err))
		}
	}
}
func (log badgerLog) Warningf(format string, all ...any) { log.Errorf(format, all...) }
func (badgerLog) Infof(string, ...any)                   {}

// Threads of Badger go on where a database has ended. They change it no more: it may have been opened again.
func (log badgerLog) Debugf(format string, _ ...any) {
	if strings.HasPrefix(format, "Writing the manifest") && log.hasCome() {
		select {}
	}
}

// Badger makes its log as long as it may become. On a small disk that is less; but what logs hold that a
// crash has left has to fit into a memtable again. There an entry takes less than twice what it takes in
// the log.
func memtableBytes(directory string, most int64) int64 {
	var disk syscall.Statfs_t
	if syscall.Statfs(directory, &disk) == nil {
		most = max(1<<20, min(most, int64(disk.Blocks)*disk.Bsize/64))
	}
	logs, _ := filepath.Glob(filepath.Join(directory, "*.mem"))
	for _, log := range logs {
		most = max(most, min(C.OKV_MOST_MEMTABLE_BYTES, 2*heldBytes(log)))
	}
	return most
}

// How much of a log is written: zeros are behind it, until an opening cuts them off. As much as there may
// be where that cannot be read, or where its length is none of ours.
func heldBytes(log string) int64 {
	file, err := os.Open(log)
	if err != nil {
		return C.OKV_MOST_MEMTABLE_BYTES
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil || about.Size() > 2*C.OKV_MOST_MEMTABLE_BYTES {
		return C.OKV_MOST_MEMTABLE_BYTES
	}
	chunk := make([]byte, 1<<20)
	for end := about.Size(); end > 0; {
		begin := max(0, end-int64(len(chunk)))
		part := chunk[:end-begin]
		if _, err := file.ReadAt(part, begin); err != nil {
			return C.OKV_MOST_MEMTABLE_BYTES
		}
		if held := len(bytes.TrimRight(part, "\x00")); held > 0 {
			return begin + int64(held)
		}
		end = begin
	}
	return 0
}

// Where Badger would end the process it does not say for which database: it is the end of all (build.py).
var badgers sync.Map // of *doom

func init() {
	y.Died = func(format string, all ...any) {
		err := fmt.Errorf("Badger gave up ("+format+")", all...)
		if errnoIn(err) == 0 {
			err = damage("", err.Error())
		}
		badgers.Range(func(each, _ any) bool {
			each.(*doom).because(err)
			return true
		})
		select {}
	}
}

func openBadger(path string, wanted wanted) (database, error) {
	opened := &badgerDB{doom: newDoom(), directory: path, spaces: wanted.spaces, views: map[uint64]int{}}
	if err := opened.open(wanted); err != nil {
		opened.copied.remove()
		badgers.Delete(opened.doom)
		opened.db = nil
		runtime.GC() // closes the files that Badger has opened and forgotten
		runtime.GC()
		return nil, badgerFailure(err)
	}
	return opened, nil
}

func (its *badgerDB) open(wanted wanted) (err error) {
	if _, err := os.Stat(filepath.Join(its.directory, badger.ManifestFilename)); errors.Is(err, os.ErrNotExist) {
		if !wanted.create || wanted.isReadOnly {
			return &failure{status: C.CDB_NOT_FOUND, what: "it has no file " + badger.ManifestFilename}
		}
	}
	directory := its.directory
	if wanted.isReadOnly {
		if its.copied, err = copyBadger(its.directory); err != nil {
			return err
		}
		directory = its.copied.directory
	} else if err = its.clean(); err != nil {
		return err
	}
	options := badger.DefaultOptions(directory).
		WithBlockCacheSize(wanted.cacheBytes).
		WithBypassLockGuard(true). // the lock is engines/foreign.cpp's
		WithChecksumVerificationMode(badgeroptions.OnBlockRead).
		WithCompression(badgeroptions.None).
		WithDetectConflicts(false).
		WithLogger(badgerLog{its.doom, &its.isOpen}).
		WithMemTableSize(memtableBytes(its.directory, wanted.memtableBytes)).
		WithMetricsEnabled(false).
		WithNumCompactors(2).
		WithNumMemtables(2).
		WithReadOnly(wanted.isReadOnly).
		WithSyncWrites(true).
		WithValueLogFileSize(badgerValueBytes).
		WithVerifyValueChecksum(true)
	// A transaction may have 15 % of a memtable: a value beside its key needs less than that.
	options.ValueThreshold = min(options.ValueThreshold, options.MemTableSize*15/200)
	badgers.Store(its.doom, true)
	for {
		err = its.run(func() error {
			its.db, err = badger.OpenManaged(options)
			return err
		})
		if err == nil {
			break
		}
		if !its.copied.cutLog(err) {
			return err
		}
	}
	its.isOpen.Store(true)
	its.version = its.db.MaxVersion()
	if wanted.isReadOnly {
		return its.seeWhole()
	}
	return its.redo()
}

// Whether it is a log that a process has begun to make, which Badger does not take for one.
func isBegun(name string, size int64) bool {
	return size == 0 && (strings.HasSuffix(name, ".mem") || strings.HasSuffix(name, ".vlog"))
}

// Removes what a crash has left, and syncs what was perhaps not.
func (its *badgerDB) clean() error {
	names, err := namesAndSizes(its.directory)
	for name, size := range names {
		switch {
		case err != nil:
			return err
		case isBegun(name, size) || name == unfinishedRedo:
			err = os.Remove(its.path(name))
		case strings.HasSuffix(name, ".mem") || name == badger.ManifestFilename:
			err = synced(its.path(name))
		}
	}
	return errors.Join(err, synced(its.directory))
}

func (its *badgerDB) close(hasFailed bool) error {
	defer its.copied.remove()
	defer badgers.Delete(its.doom)
	if its.hasCome() {
		return nil
	}
	return badgerFailure(its.run(its.db.Close))
}

func (its *badgerDB) stats() (uint64, uint64, uint64, error) {
	its.mutex.Lock()
	defer its.mutex.Unlock()
	return its.version, its.ingests, uint64(len(its.spaces)), nil
}

// The version is whole: who reads from now on sees it. What older versions nobody sees goes.
func (its *badgerDB) show(version uint64) {
	its.mutex.Lock()
	defer its.mutex.Unlock()
	its.version = version
	its.forget()
}

func (its *badgerDB) forget() {
	oldest := its.version
	for version := range its.views {
		oldest = min(oldest, version)
	}
	its.db.SetDiscardTs(oldest)
}

func (its *badgerDB) commit(done batch, _ bool) error {
	writes, version := its.db.NewTransactionAt(its.version, true), its.version+1
	defer writes.Discard()
	for i := range done.ops {
		space, key, value, isDelete := done.at(i)
		full := spaced(nil, space, key)
		var err error
		if isDelete {
			err = writes.Delete(full)
		} else {
			err = writes.Set(full, bytes.Clone(value))
		}
		if errors.Is(err, badger.ErrTxnTooBig) || len(value) > badgerValueBytes {
			return its.commitByRedo(done)
		}
		if err != nil {
			return badgerFailure(err)
		}
	}
	err := writes.Set(sequenceKey, isWritten)
	if err == nil {
		err = its.run(func() error { return writes.CommitAt(version, nil) })
	}
	if errors.Is(err, badger.ErrTxnTooBig) {
		return its.commitByRedo(done)
	}
	if err == nil {
		its.show(version)
	}
	return badgerFailure(err)
}

func (its *badgerDB) commitByRedo(done batch) error {
	return its.writeByRedo(func(put func(uint8, []byte, []byte, bool) error) error {
		for i := range done.ops {
			if err := put(done.at(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (its *badgerDB) newRun(space uint8) (run, error) { return &pages{space: space}, nil }

func (its *badgerDB) ingest(full []run) error {
	its.ingests++
	return its.writeByRedo(func(put func(uint8, []byte, []byte, bool) error) error {
		for _, each := range full {
			run := each.(*pages)
			err := run.each(func(key, value []byte) error { return put(run.space, key, value, false) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Each commit is durable, and in order.
func (its *badgerDB) checkpoint() error { return nil }
func (its *badgerDB) settle() error {
	return badgerFailure(its.run(func() error { return its.db.Flatten(1) }))
}
func (its *badgerDB) verify() error { return badgerFailure(its.db.VerifyChecksum()) }

type badgerView struct {
	of      *badgerDB
	version uint64
	reads   *badger.Txn
}

func (its *badgerDB) begin(bool) (view, error) {
	its.mutex.Lock()
	defer its.mutex.Unlock()
	its.views[its.version]++
	return &badgerView{its, its.version, its.db.NewTransactionAt(its.version, false)}, nil
}

func (view *badgerView) end() {
	view.reads.Discard()
	its := view.of
	its.mutex.Lock()
	defer its.mutex.Unlock()
	if its.views[view.version]--; its.views[view.version] == 0 {
		delete(its.views, view.version)
		its.forget()
	}
}

func (view *badgerView) check() error { return nil }

func (view *badgerView) cursor(space uint8, _ bool) (cursor, error) {
	if int(space) >= len(view.of.spaces) {
		return nil, damage("", "a space is missing")
	}
	return &badgerCursor{of: view, full: []byte{space}}, nil
}

// An iterator of Badger goes in one direction: at is the one that was used last.
type badgerCursor struct {
	of                *badgerView
	at, forward, back *badger.Iterator
	full              []byte // the key that is sought, behind its space
	content           []byte
}

func (cursor *badgerCursor) sought(key []byte) []byte {
	cursor.full = append(cursor.full[:1], key...)
	return cursor.full
}

func (cursor *badgerCursor) use(which **badger.Iterator, isReverse bool) *badger.Iterator {
	if *which == nil {
		*which = cursor.of.reads.NewIterator(badger.IteratorOptions{Reverse: isReverse, Prefix: bytes.Clone(cursor.full[:1])})
	}
	cursor.at = *which
	return *which
}

func (cursor *badgerCursor) end(bool) {
	for _, each := range []*badger.Iterator{cursor.forward, cursor.back} {
		if each != nil {
			each.Close()
		}
	}
}

func (cursor *badgerCursor) find(key []byte) ([]byte, bool, error) {
	item, err := cursor.of.reads.Get(cursor.sought(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, badgerFailure(err)
	}
	cursor.content, err = item.ValueCopy(cursor.content)
	return cursor.content, true, badgerFailure(err)
}

func (cursor *badgerCursor) seek(key []byte) bool {
	at := cursor.use(&cursor.forward, false)
	at.Seek(cursor.sought(key))
	return at.Valid()
}

func (cursor *badgerCursor) seekLike(key []byte) bool { return cursor.seek(key) }

func (cursor *badgerCursor) seekBefore(key []byte) bool {
	at := cursor.use(&cursor.back, true)
	if key == nil { // Badger itself would begin before the first one
		at.Seek([]byte{cursor.full[0] + 1})
		return at.Valid()
	}
	at.Seek(cursor.sought(key))
	if at.Valid() && bytes.Equal(at.Item().Key(), cursor.full) {
		at.Next()
	}
	return at.Valid()
}

func (cursor *badgerCursor) next() bool {
	cursor.at.Next()
	return cursor.at.Valid()
}

func (cursor *badgerCursor) previous() bool { return cursor.next() }
func (cursor *badgerCursor) key() []byte    { return cursor.at.Item().Key()[1:] }
func (cursor *badgerCursor) failed() error  { return nil }
func (cursor *badgerCursor) value() (_ []byte, err error) {
	cursor.content, err = cursor.at.Item().ValueCopy(cursor.content)
	return cursor.content, badgerFailure(err)
}

func badgerFailure(err error) error {
	var told *failure
	switch {
	case err == nil || errors.As(err, &told) || errnoIn(err) != 0:
		return err
	case strings.Contains(err.Error(), "checksum"), strings.Contains(err.Error(), "corrupt"), strings.Contains(err.Error(), "not exist"):
		return damage("", fmt.Sprintf("damage was found (%v)", err))
	}
	return damage("", fmt.Sprintf("what is read makes no sense (%v)", err))
}

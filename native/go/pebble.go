package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// #include "cdb_ordered_kv.h"
import "C"

// Pebble has one space of keys: a byte in front of each says which of ours it is in. Behind all of them
// is one key of our own, the number of the last write.
var sequenceKey = []byte{0xff}

// Filters know the prefixes that a space is for, or whole keys.
func comparerOf(spaces []space) *pebble.Comparer {
	comparer := *pebble.DefaultComparer
	comparer.Name = "cdb.spaces"
	comparer.Split = func(key []byte) int {
		if len(key) == 0 || int(key[0]) >= len(spaces) {
			return len(key)
		}
		of := spaces[key[0]]
		if of.prefixBytes > 0 {
			return min(len(key), 1+of.prefixBytes)
		}
		return max(1, len(key)-of.suffixBytes)
	}
	// One that is shortened may have no prefix.
	comparer.Separator = func(to, a, b []byte) []byte { return append(to, a...) }
	comparer.Successor = func(to, a []byte) []byte { return append(to, a...) }
	return &comparer
}

type pebbleLog struct{ *doom }

func (pebbleLog) Infof(string, ...any)  {}
func (pebbleLog) Errorf(string, ...any) {}
func (log pebbleLog) Fatalf(format string, all ...any) {
	for _, each := range all {
		if err, is := each.(error); is {
			log.die(err)
		}
	}
	log.die(fmt.Errorf(format, all...))
}

type pebbleDB struct {
	*doom
	directory string
	options   *pebble.Options
	files     *pebbleFiles
	held      *heldFiles // of a reader
	db        *pebble.DB
	spaces    []space
	sequence  uint64
	ingests   uint64
	kept      keptIterators
}

func pebbleOptions(wanted wanted, doom *doom, filesChanged func()) *pebble.Options {
	options := &pebble.Options{
		Cache:                      pebble.NewCache(wanted.cacheBytes),
		CompactionConcurrencyRange: func() (int, int) { return 1, 2 },
		Comparer:                   comparerOf(wanted.spaces),
		ErrorIfNotExists:           !wanted.create,
		EventListener: &pebble.EventListener{
			BackgroundError: doom.because,
			DataCorruption:  func(pebble.DataCorruptionInfo) {}, // who reads is told
		},
		DebugCheck: func(*pebble.DB) error { // called where files have taken the place of others
			go filesChanged() // who calls it has a lock
			return nil
		},
		FormatMajorVersion:          pebble.FormatNewest,
		Logger:                      pebbleLog{doom},
		MemTableSize:                uint64(wanted.memtableBytes),
		MemTableStopWritesThreshold: 2,
		ReadOnly:                    wanted.isReadOnly,
		TargetFileSizes:             [7]int64{8 << 20, 32 << 20},
		LBaseMaxBytes:               256 << 20,
	}
	options.Experimental.DisableIngestAsFlushable = func() bool { return true }
	// Which would compare what is sought by the prefix that Split takes for its own, and keys that are
	// sought may have another length.
	options.Experimental.EnableColumnarBlocks = func() bool { return false }
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
		return pebble.UniformDBCompressionSettings(block.SnappyCompression)
	})
	options.Levels[0].FilterPolicy = bloom.FilterPolicy(10) // the levels below have what it has
	options.EnsureDefaults()
	return options
}

func openPebble(path string, wanted wanted) (database, error) {
	opened := &pebbleDB{doom: newDoom(), directory: path, spaces: wanted.spaces}
	opened.options = pebbleOptions(wanted, opened.doom, func() { opened.kept.end(0) })
	defer opened.options.Cache.Unref()
	err := opened.open(wanted)
	if err != nil {
		opened.leave(err)
		return nil, pebbleFailure(err)
	}
	return opened, nil
}

func (its *pebbleDB) open(wanted wanted) (err error) {
	if wanted.isReadOnly {
		if its.held, err = holdFiles(its.directory); err != nil {
			return err
		}
		its.options.FS = its.held
	} else {
		its.files = &pebbleFiles{FS: vfs.Default, directory: its.directory, doom: its.doom}
		its.options.FS = its.files
		if err = its.files.clean(); err != nil {
			return err
		}
	}
	err = its.run(func() error {
		its.db, err = pebble.Open(its.directory, its.options)
		return err
	})
	if err != nil {
		return err
	}
	if wanted.isReadOnly {
		if err = its.held.checkUnchanged(); err != nil {
			return errors.Join(err, its.run(its.db.Close))
		}
	}
	value, closer, err := its.db.Get(sequenceKey)
	if err == nil {
		its.sequence = binary.BigEndian.Uint64(value)
		return closer.Close()
	}
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	return err
}

// What still goes on in it ends with its next write.
func (its *pebbleDB) leave(err error) {
	its.because(err)
	its.held.close()
	if its.files != nil {
		its.files.closeAll()
	}
}

func (its *pebbleDB) close(hasFailed bool) error {
	if hasFailed || its.hasCome() {
		its.leave(errors.New("it was left"))
		return nil
	}
	err := its.change(its.db.Close)
	its.held.close()
	return pebbleFailure(err)
}

// Runs a body, once no iterator is kept.
func (its *pebbleDB) change(body func() error) error {
	return its.run(func() error { return its.kept.during(body) })
}

func (its *pebbleDB) stats() (uint64, uint64, uint64, error) {
	return its.sequence, its.ingests, uint64(len(its.spaces)), nil
}

func spaced(to []byte, space uint8, key []byte) []byte { return append(append(to[:0], space), key...) }

// The number of the next write, as it is kept with it.
func (its *pebbleDB) next() []byte {
	its.sequence++
	return binary.BigEndian.AppendUint64(nil, its.sequence)
}

func (its *pebbleDB) commit(done batch, isSynced bool) error {
	writes := its.db.NewBatchWithSize(len(done.keys.bytes) + len(done.values.bytes) + 16*done.n() + 64)
	var full []byte
	for i := range done.ops {
		space, key, value, isDelete := done.at(i)
		full = spaced(full, space, key)
		var err error
		if isDelete {
			err = writes.Delete(full, nil)
		} else {
			err = writes.Set(full, value, nil)
		}
		if err != nil {
			return pebbleFailure(err)
		}
	}
	if err := writes.Set(sequenceKey, its.next(), nil); err != nil {
		return pebbleFailure(err)
	}
	return its.apply(writes, isSynced)
}

// Pebble has written what a commit is when it is told to sync, and not before. So it always is, and its
// logs leave the syncing out where it is not wanted.
func (its *pebbleDB) apply(writes *pebble.Batch, isSynced bool) error {
	its.files.skipsSyncs.Store(!isSynced)
	return pebbleFailure(its.change(func() error {
		if err := its.db.Apply(writes, pebble.Sync); err != nil {
			return err
		}
		return writes.Close()
	}))
}

type pebbleRun struct {
	of         *pebbleDB
	space      uint8
	path       string
	writer     *sstable.Writer // once there are entries
	full       []byte
	isFinished bool
}

func (its *pebbleDB) newRun(space uint8) (run, error) {
	return &pebbleRun{of: its, space: space, path: filepath.Join(its.directory, its.unfinished(space))}, nil
}

func (its *pebbleDB) unfinished(space uint8) string {
	return fmt.Sprintf("%s%d", unfinishedPrefix, space)
}

func (run *pebbleRun) isEmpty() bool { return run.writer == nil }
func (run *pebbleRun) free() {
	if run.writer != nil && !run.isFinished {
		_ = run.writer.Close()
	}
}

func (run *pebbleRun) begin() error {
	file, err := vfs.Default.Create(run.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	options := run.of.options.MakeWriterOptions(0, run.of.db.TableFormat())
	run.writer = sstable.NewWriter(objstorageprovider.NewFileWritable(file), options)
	return nil
}

func (run *pebbleRun) add(keys, values items) error {
	if keys.n() == 0 {
		return nil
	}
	if run.writer == nil {
		if err := run.begin(); err != nil {
			return pebbleFailure(err)
		}
	}
	for i := range keys.ends {
		run.full = spaced(run.full, run.space, keys.at(i))
		if err := run.writer.Set(run.full, values.at(i)); err != nil {
			return pebbleFailure(err)
		}
	}
	return nil
}

func (run *pebbleRun) finish() error {
	if run.writer == nil {
		return nil
	}
	run.isFinished = true
	return pebbleFailure(run.writer.Close())
}

func (its *pebbleDB) ingest(full []run) error {
	its.files.skipsSyncs.Store(false)
	last := &pebbleRun{of: its, path: filepath.Join(its.directory, unfinishedPrefix+"sequence")}
	if err := last.begin(); err != nil {
		return pebbleFailure(err)
	}
	if err := last.writer.Set(sequenceKey, its.next()); err != nil {
		return pebbleFailure(err)
	}
	paths := []string{last.path}
	for _, each := range full {
		paths = append(paths, each.(*pebbleRun).path)
	}
	err := its.change(func() error {
		if err := last.writer.Close(); err != nil {
			return err
		}
		// What is in the log must not be lost when this, which comes later, is kept.
		if err := its.db.LogData(nil, pebble.Sync); err != nil {
			return err
		}
		return its.db.Ingest(context.Background(), paths)
	})
	its.ingests++
	return pebbleFailure(err)
}

func (its *pebbleDB) checkpoint() error {
	its.files.skipsSyncs.Store(false)
	return pebbleFailure(its.run(func() error {
		if err := its.db.LogData(nil, pebble.Sync); err != nil {
			return err
		}
		return its.db.Flush()
	}))
}

func (its *pebbleDB) settle() error {
	if err := its.checkpoint(); err != nil {
		return err
	}
	return pebbleFailure(its.run(func() error {
		return its.db.Compact(context.Background(), []byte{0}, []byte{0xff, 0xff}, true)
	}))
}

// The blocks of each table as they are on the disk, whatever the cache has; and the order of all keys.
func (its *pebbleDB) verify() error {
	levels, err := its.db.SSTables()
	if err != nil {
		return pebbleFailure(err)
	}
	for _, level := range levels {
		for _, table := range level {
			if err := its.verifyTable(fmt.Sprintf("%06d.sst", uint64(table.BackingSSTNum))); err != nil {
				return err
			}
		}
	}
	return pebbleFailure(its.db.CheckLevels(nil))
}

func (its *pebbleDB) verifyTable(name string) error {
	file, err := its.options.FS.Open(filepath.Join(its.directory, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil // it was merged meanwhile
	}
	if err != nil {
		return pebbleFailure(err)
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return pebbleFailure(err)
	}
	options := its.options.MakeReaderOptions()
	reader, err := sstable.NewReader(context.Background(), readable, options)
	if err == nil {
		err = errors.Join(reader.ValidateBlockChecksums(), reader.Close())
	}
	if told := pebbleFailure(err); told != nil {
		failed := *failureOf(told)
		failed.file = name
		return &failed
	}
	return nil
}

type pebbleView struct {
	of       *pebbleDB
	reader   pebble.Reader
	snapshot *pebble.Snapshot // if it lasts
}

func (its *pebbleDB) begin(lasts bool) (view, error) {
	if !lasts {
		return &pebbleView{of: its, reader: its.db}, nil
	}
	var snapshot *pebble.Snapshot
	err := its.run(func() error {
		snapshot = its.db.NewSnapshot()
		return nil
	})
	return &pebbleView{its, snapshot, snapshot}, pebbleFailure(err)
}

func (view *pebbleView) check() error { return nil }

func (view *pebbleView) end() {
	if view.snapshot != nil {
		_ = view.of.run(view.snapshot.Close)
	}
}

type pebbleCursor struct {
	of   *pebbleDB
	at   *pebble.Iterator
	asks bool   // filters, whether a prefix is there
	full []byte // the key that is sought, behind its space

	isOfNow bool   // of no snapshot
	moment  uint64 // see keptIterators
}

func (view *pebbleView) cursor(space uint8, fillCache bool) (cursor, error) {
	if int(space) >= len(view.of.spaces) {
		return nil, damage("", "a space is missing")
	}
	if view.of.hasCome() {
		return nil, view.of.err
	}
	of := view.of.spaces[space]
	asks := !of.isUnfiltered && of.prefixBytes+of.suffixBytes > 0
	made := &pebbleCursor{of: view.of, asks: asks, full: []byte{space}, isOfNow: view.snapshot == nil}
	if made.isOfNow {
		if made.at, made.moment = view.of.kept.take(space); made.at != nil {
			return made, nil
		}
	}
	err := view.of.run(func() (err error) { // after its end Pebble may keep the lock that this takes
		made.at, err = view.reader.NewIter(&pebble.IterOptions{
			LowerBound:   []byte{space},
			UpperBound:   []byte{space + 1},
			UseL6Filters: true, // most keys are in it, and many that are looked up nowhere
		})
		return err
	})
	if err != nil {
		return nil, pebbleFailure(err)
	}
	return made, nil
}

func (cursor *pebbleCursor) end(isWell bool) {
	if isWell && cursor.isOfNow && cursor.of.kept.give(cursor.full[0], cursor.at, cursor.moment) {
		return
	}
	_ = cursor.of.run(cursor.at.Close)
}

func (cursor *pebbleCursor) sought(key []byte) []byte {
	cursor.full = append(cursor.full[:1], key...)
	return cursor.full
}

func (cursor *pebbleCursor) find(key []byte) ([]byte, bool, error) {
	if !cursor.at.SeekPrefixGE(cursor.sought(key)) || !bytes.Equal(cursor.at.Key(), cursor.full) {
		return nil, false, cursor.failed()
	}
	value, err := cursor.value()
	return value, true, err
}

func (cursor *pebbleCursor) seek(key []byte) bool { return cursor.at.SeekGE(cursor.sought(key)) }
func (cursor *pebbleCursor) seekLike(key []byte) bool {
	if !cursor.asks {
		return cursor.seek(key)
	}
	return cursor.at.SeekPrefixGE(cursor.sought(key))
}
func (cursor *pebbleCursor) next() bool     { return cursor.at.Next() }
func (cursor *pebbleCursor) previous() bool { return cursor.at.Prev() }
func (cursor *pebbleCursor) key() []byte    { return cursor.at.Key()[1:] }
func (cursor *pebbleCursor) failed() error  { return pebbleFailure(cursor.at.Error()) }
func (cursor *pebbleCursor) value() ([]byte, error) {
	value, err := cursor.at.ValueAndErr()
	return value, pebbleFailure(err)
}
func (cursor *pebbleCursor) seekBefore(key []byte) bool {
	if key == nil {
		return cursor.at.Last()
	}
	return cursor.at.SeekLT(cursor.sought(key))
}

var tableNumber = regexp.MustCompile(`\b\d{6,}\b`)

// The name of the table or log that a text names, if it does.
func pebbleFile(text string) string {
	number := tableNumber.FindString(text)
	switch {
	case strings.Contains(text, "MANIFEST-"+number):
		return "MANIFEST-" + number
	case number != "" && strings.Contains(text, "wal"):
		return number + ".log"
	case number != "":
		return number + ".sst"
	}
	return ""
}

func pebbleFailure(err error) error {
	var told *failure
	switch {
	case err == nil || errors.As(err, &told):
		return err
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		return &failure{status: C.CDB_NOT_FOUND, what: "no Pebble database is here"}
	case strings.Contains(err.Error(), "format major version"):
		return &failure{status: C.CDB_FOREIGN, what: err.Error(), advice: "use a newer cdb, or load it anew"}
	case pebble.IsCorruptionError(err), errors.Is(err, os.ErrNotExist), errnoIn(err) == 0:
		return damage(pebbleFile(err.Error()), "damage was found ("+err.Error()+")")
	}
	return err
}

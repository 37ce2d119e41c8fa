package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// #include "cdb_ordered_kv.h"
import "C"

// One file, of which a space is a bucket.
const bboltFile, bboltUnfinished = "bbolt.db", "unfinished.db"

// A file that outgrows its map waits for all who read, and for ever where one of them waits for it. So
// the map has as many addresses as there are to be had, from these on, and the file stays within it.
const bboltMostBytes, bboltLeastBytes = 1 << 40, 1 << 26

type bboltDB struct {
	*bbolt.DB
	directory string
	file      *os.File
	spaces    []space
	buckets   int // that there are
	opened    *bbolt.Tx
	kept      *keptPages
	seen      *seenPages
	ingests   uint64
	isStuck   bool // by a write that broke off
}

func openBbolt(path string, wanted wanted) (database, error) {
	opened := &bboltDB{directory: path, spaces: wanted.spaces}
	err := caught(func() error { return opened.open(wanted) })
	if err == nil {
		return opened, nil
	}
	if opened.DB != nil {
		_ = opened.close(false)
	}
	return nil, bboltFailure(err)
}

func (its *bboltDB) path(name string) string { return filepath.Join(its.directory, name) }

func (its *bboltDB) open(wanted wanted) error {
	found, err := os.Stat(its.path(bboltFile))
	if err == nil && found.Size() == 0 { // bbolt would begin a new database in it
		return damage(bboltFile, "it is cut")
	}
	if errors.Is(err, os.ErrNotExist) {
		if !wanted.create || wanted.isReadOnly {
			return &failure{status: C.CDB_NOT_FOUND, what: "it has no file " + bboltFile}
		}
		err = its.create()
	}
	if err != nil {
		return err
	}
	if wanted.isReadOnly {
		return its.openToRead(wanted)
	}
	return its.openToWrite(wanted)
}

// In one step: what a crash leaves of it is not there.
func (its *bboltDB) create() error {
	path := its.path(bboltUnfinished)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	made, err := bbolt.Open(path, 0o644, nil)
	if err != nil {
		return err
	}
	err = made.Update(func(tx *bbolt.Tx) error {
		for _, space := range its.spaces {
			if _, err := tx.CreateBucket([]byte(space.name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, made.Close()); err != nil {
		return err
	}
	return os.Rename(path, its.path(bboltFile))
}

// The lock is engines/foreign.cpp's: bbolt's own would keep readers out, and is let go at once.
func (its *bboltDB) openFile(isReadOnly bool) error {
	options := &bbolt.Options{ReadOnly: isReadOnly, Timeout: time.Second, NoStatistics: true}
	options.FreelistType = bbolt.FreelistMapType
	options.OpenFile = func(name string, flag int, mode os.FileMode) (file *os.File, err error) {
		its.file, err = os.OpenFile(name, flag&^os.O_CREATE, mode)
		return its.file, err
	}
	for size := bboltMostBytes; ; size /= 2 {
		options.InitialMmapSize, options.MaxSize = size, size
		db, err := bbolt.Open(its.path(bboltFile), 0o644, options)
		if errors.Is(err, syscall.ENOMEM) && size > bboltLeastBytes {
			continue
		}
		if err != nil {
			return err
		}
		db.AllocSize = 1 << 20
		its.DB = db
		return syscall.Flock(int(its.file.Fd()), syscall.LOCK_UN)
	}
}

func (its *bboltDB) openToRead(wanted wanted) (err error) {
	if its.seen, err = seePages(its.directory); err != nil {
		return err
	}
	if err = its.openFile(true); err != nil {
		return err
	}
	if its.opened, err = its.Begin(false); err != nil {
		return err
	}
	return its.count(its.opened, wanted.late)
}

// What is there may be what a process has left that was killed before it could sync it.
func (its *bboltDB) openToWrite(wanted wanted) error {
	if err := its.openFile(false); err != nil {
		return err
	}
	if err := errors.Join(its.file.Sync(), synced(its.directory)); err != nil {
		return err
	}
	if err := its.View(func(tx *bbolt.Tx) error { return its.count(tx, wanted.late) }); err != nil {
		return err
	}
	if its.buckets < len(its.spaces) {
		err := its.Update(func(tx *bbolt.Tx) error {
			for _, space := range its.spaces[its.buckets:] {
				if _, err := tx.CreateBucketIfNotExists([]byte(space.name)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		its.buckets = len(its.spaces)
	}
	kept, err := keepPages(its.directory, its.DB)
	its.kept = kept
	return err
}

// How many of the spaces are there.
func (its *bboltDB) count(tx *bbolt.Tx, late int) error {
	for _, space := range its.spaces {
		if tx.Bucket([]byte(space.name)) == nil {
			break
		}
		its.buckets++
	}
	if its.buckets < len(its.spaces)-late {
		return damage(bboltFile, "it has no "+its.spaces[its.buckets].name)
	}
	return nil
}

func (its *bboltDB) close(hasFailed bool) error {
	if its.opened != nil {
		_ = its.opened.Rollback()
	}
	its.kept.close()
	its.seen.close()
	if its.isStuck { // its locks are nobody's any more
		return nil
	}
	return bboltFailure(its.Close())
}

// The making of the database is transaction 2, and nothing that anybody has written.
func (its *bboltDB) stats() (sequence, ingests, spaces uint64, err error) {
	if its.opened != nil {
		return uint64(its.opened.ID()) - 2, 0, uint64(its.buckets), nil
	}
	err = its.View(func(tx *bbolt.Tx) error {
		sequence = uint64(tx.ID()) - 2
		return nil
	})
	return sequence, its.ingests, uint64(its.buckets), bboltFailure(err)
}

func (its *bboltDB) update(fill func(*bbolt.Tx) error) error {
	its.isStuck = true
	err := its.Update(fill)
	its.isStuck = false
	if err == nil {
		err = its.kept.renewIfNobodyReads(its.DB)
	}
	return bboltFailure(err)
}

// To put entries that ascend: those of a log fill one page after the other.
func (its *bboltDB) bucket(tx *bbolt.Tx, number uint8) (*bbolt.Bucket, error) {
	if int(number) >= its.buckets {
		return nil, damage("", "a space is missing")
	}
	bucket := tx.Bucket([]byte(its.spaces[number].name))
	if bucket == nil {
		return nil, damage(bboltFile, "it has no "+its.spaces[number].name)
	}
	if !its.spaces[number].isRandom {
		bucket.FillPercent = 1
	}
	return bucket, nil
}

// bbolt has no level at which a commit survives the process alone: without its syncs a power cut would
// leave no database.
func (its *bboltDB) commit(done batch, _ bool) error {
	return its.update(func(tx *bbolt.Tx) (err error) {
		var bucket *bbolt.Bucket
		for i := range done.ops {
			space, key, value, isDelete := done.at(i)
			if i == 0 || done.ops[i].space != done.ops[i-1].space {
				if bucket, err = its.bucket(tx, space); err != nil {
					return err
				}
			}
			if isDelete {
				err = bucket.Delete(key)
			} else {
				err = bucket.Put(key, value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (its *bboltDB) newRun(space uint8) (run, error) { return &pages{space: space}, nil }

func (its *bboltDB) ingest(full []run) error {
	its.ingests++
	return its.update(func(tx *bbolt.Tx) error {
		for _, each := range full {
			its_run := each.(*pages)
			bucket, err := its.bucket(tx, its_run.space)
			if err != nil {
				return err
			}
			if err := its_run.each(bucket.Put); err != nil {
				return err
			}
		}
		return nil
	})
}

// There is nothing to do: each commit is durable, and in order.
func (its *bboltDB) checkpoint() error { return nil }
func (its *bboltDB) settle() error     { return nil }

// bbolt has no checksums; the coin set holds its own against all values.
func (its *bboltDB) verify() error {
	now, err := its.begin(true)
	if err != nil {
		return err
	}
	defer now.end()
	for number := range its.buckets {
		at, err := now.cursor(uint8(number), false)
		if err != nil {
			return err
		}
		var before []byte
		for isThere := at.seek(nil); isThere; isThere = at.next() {
			if before != nil && bytes.Compare(at.key(), before) <= 0 {
				return damage(bboltFile, "its keys are in disorder")
			}
			before = append(before[:0], at.key()...)
		}
	}
	return nil
}

type bboltView struct {
	of *bboltDB
	tx *bbolt.Tx
}

func (its *bboltDB) begin(bool) (view, error) {
	if its.opened != nil {
		return &bboltView{its, its.opened}, nil
	}
	tx, err := its.Begin(false)
	return &bboltView{its, tx}, bboltFailure(err)
}

func (view *bboltView) end() {
	if view.tx != view.of.opened {
		_ = view.tx.Rollback()
	}
}

func (view *bboltView) check() error { return view.of.seen.check(view.tx) }

func (view *bboltView) cursor(space uint8, _ bool) (cursor, error) {
	bucket, err := view.of.bucket(view.tx, space)
	if err != nil {
		return nil, err
	}
	return &bboltCursor{at: bucket.Cursor()}, nil
}

type bboltCursor struct {
	at               *bbolt.Cursor
	found, foundHere []byte
}

// Whether the entry is one.
func (cursor *bboltCursor) is(key, value []byte) bool {
	cursor.found, cursor.foundHere = key, value
	return key != nil
}

func (cursor *bboltCursor) find(key []byte) ([]byte, bool, error) {
	isThere := cursor.seek(key) && bytes.Equal(cursor.found, key)
	return cursor.foundHere, isThere, nil
}

func (cursor *bboltCursor) seek(key []byte) bool     { return cursor.is(cursor.at.Seek(key)) }
func (cursor *bboltCursor) seekLike(key []byte) bool { return cursor.seek(key) }
func (cursor *bboltCursor) seekBefore(key []byte) bool {
	if key == nil || !cursor.seek(key) {
		return cursor.is(cursor.at.Last())
	}
	return cursor.previous()
}
func (cursor *bboltCursor) next() bool             { return cursor.is(cursor.at.Next()) }
func (cursor *bboltCursor) previous() bool         { return cursor.is(cursor.at.Prev()) }
func (cursor *bboltCursor) key() []byte            { return cursor.found }
func (cursor *bboltCursor) value() ([]byte, error) { return cursor.foundHere, nil }
func (cursor *bboltCursor) end(bool)               {}

func (cursor *bboltCursor) failed() error { return nil }

func bboltFailure(err error) error {
	var told *failure
	switch {
	case err == nil || errors.As(err, &told):
		return err
	case errors.Is(err, bbolterrors.ErrTimeout):
		return &failure{status: C.CDB_LOCKED, file: bboltFile, what: "somebody has it open for writing"}
	case errors.Is(err, bbolterrors.ErrMaxSizeReached):
		return &failure{status: C.CDB_LIMIT, file: bboltFile, what: "it is as large as its map, which can't grow",
			advice: "allow the process more addresses (ulimit -v), and open it again"}
	case errors.Is(err, bbolterrors.ErrInvalid), errors.Is(err, bbolterrors.ErrVersionMismatch), errors.Is(err, bbolterrors.ErrChecksum):
		return damage(bboltFile, fmt.Sprintf("it can't be opened (%v)", err))
	}
	return err
}

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// #include "cdb_ordered_kv.h"
import "C"

// Pebble leaves files of such names alone.
const unfinishedPrefix = "unfinished-"

// What Pebble writes by. It ends the process where most writes fail, so here none of them returns.
type pebbleFiles struct {
	vfs.FS
	*doom
	directory  string
	skipsSyncs atomic.Bool // of logs
	open       sync.Map    // *pebbleWritten
}

type nothing struct{ vfs.File }

func (nothing) Close() error { return nil }
func (nothing) Sync() error  { return nil }

// Removes what a crash has left of runs, and syncs what it has left of manifests: Pebble removes logs
// that a manifest does without.
func (files *pebbleFiles) clean() error {
	names, err := files.List(files.directory)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(files.directory, name)
		switch {
		case strings.HasPrefix(name, unfinishedPrefix):
			err = os.Remove(path)
		case strings.HasPrefix(name, "MANIFEST-"):
			err = synced(path)
		}
		if err != nil {
			return err
		}
	}
	return synced(files.directory)
}

func synced(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// The writer's lock is engines/foreign.cpp's.
func (*pebbleFiles) Lock(string) (io.Closer, error)     { return nothing{}, nil }
func (*pebbleFiles) MkdirAll(string, os.FileMode) error { return nil }

// A failed write is the end, and after the end there is none. Pebble tells others of a file that can't
// be made.
func (files *pebbleFiles) check() {
	if files.hasCome() {
		files.die(nil)
	}
}

func (files *pebbleFiles) written(err error) error {
	if err != nil {
		files.die(err)
	}
	return nil
}

func (files *pebbleFiles) wrapped(name string, file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	wrapped := &pebbleWritten{File: file, of: files, isLog: strings.HasSuffix(name, ".log")}
	files.open.Store(wrapped, true)
	return wrapped, nil
}

// After the end nobody closes them.
func (files *pebbleFiles) closeAll() {
	files.open.Range(func(each, _ any) bool {
		_ = each.(*pebbleWritten).File.Close()
		return true
	})
}

func (files *pebbleFiles) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	file, err := files.FS.Open(name, options...)
	return files.wrapped(name, file, err)
}

func (files *pebbleFiles) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	files.check()
	file, err := files.FS.Create(name, category)
	return files.wrapped(name, file, err)
}

func (files *pebbleFiles) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	files.check()
	file, err := files.FS.ReuseForWrite(old, name, category)
	return files.wrapped(name, file, err)
}

// Its parents are not ours to sync.
func (files *pebbleFiles) OpenDir(name string) (vfs.File, error) {
	if name != files.directory {
		return nothing{}, nil
	}
	file, err := files.FS.OpenDir(name)
	return files.wrapped(name, file, err)
}

func (files *pebbleFiles) Rename(old, name string) error {
	files.check()
	return files.FS.Rename(old, name)
}

func (files *pebbleFiles) Link(old, name string) error {
	files.check()
	return files.FS.Link(old, name)
}

func (files *pebbleFiles) Remove(name string) error {
	files.check()
	return files.FS.Remove(name)
}

type pebbleWritten struct {
	vfs.File
	of         *pebbleFiles
	isLog      bool
	isUnsynced bool
}

func (file *pebbleWritten) Write(all []byte) (int, error) {
	file.of.check()
	n, err := file.File.Write(all)
	return n, file.of.written(err)
}

func (file *pebbleWritten) isSkipped() bool {
	file.of.check()
	file.isUnsynced = file.isLog && file.of.skipsSyncs.Load()
	return file.isUnsynced
}

func (file *pebbleWritten) Sync() error {
	if file.isSkipped() {
		return nil
	}
	return file.of.written(file.File.Sync())
}

func (file *pebbleWritten) SyncData() error {
	if file.isSkipped() {
		return nil
	}
	return file.of.written(file.File.SyncData())
}

func (file *pebbleWritten) SyncTo(length int64) (bool, error) {
	if file.isSkipped() {
		return true, nil
	}
	isWhole, err := file.File.SyncTo(length)
	return isWhole, file.of.written(err)
}

// The next log must not outlive what is in this one.
func (file *pebbleWritten) Close() error {
	if file.isUnsynced && !file.of.hasCome() {
		_ = file.of.written(file.File.SyncData())
	}
	file.of.open.Delete(file)
	return file.File.Close()
}

// What a reader reads by: all files as they were at one moment, whatever a writer does to them. It has
// them open from the first.
type heldFiles struct {
	vfs.FS
	directory string
	names     []string
	files     map[string]*heldFile
}

type heldFile struct {
	vfs.File
	info vfs.FileInfo
}

func holdFiles(directory string) (*heldFiles, error) {
	held := &heldFiles{FS: vfs.Default, directory: directory, files: map[string]*heldFile{}}
	names, err := vfs.Default.List(directory)
	if err != nil {
		return held, err
	}
	slices.Sort(names) // logs, in their order, before tables
	for _, name := range names {
		file, err := vfs.Default.Open(filepath.Join(directory, name))
		if errors.Is(err, os.ErrNotExist) {
			return held, errChanged
		}
		if err != nil {
			return held, err
		}
		info, err := file.Stat()
		if err != nil {
			return held, err
		}
		held.files[name] = &heldFile{File: file, info: info}
	}
	held.names = names
	return held, held.checkUnchanged()
}

var errChanged = &failure{status: C.CDB_LOCKED, what: "a writer changed it while it was opened"}

// Whether nothing but the last log may have become longer: all files are of one moment then.
func (held *heldFiles) checkUnchanged() error {
	names, err := vfs.Default.List(held.directory)
	if err != nil {
		return err
	}
	slices.Sort(names)
	if !slices.Equal(names, held.names) {
		return errChanged
	}
	logs := slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".log") })
	for name, file := range held.files {
		isLast := len(logs) > 0 && name == logs[len(logs)-1]
		info, err := file.Stat()
		if err != nil {
			return err
		}
		if info.Size() != file.info.Size() && !isLast {
			return errChanged
		}
	}
	return nil
}

func (held *heldFiles) close() {
	if held != nil {
		for _, file := range held.files {
			_ = file.File.Close()
		}
	}
}

func (*heldFiles) Lock(string) (io.Closer, error) { return nothing{}, nil }
func (held *heldFiles) List(string) ([]string, error) {
	return slices.Clone(held.names), nil
}
func (held *heldFiles) OpenDir(string) (vfs.File, error) { return nothing{}, nil }

func (held *heldFiles) find(path string) (*heldFile, error) {
	if file, isThere := held.files[filepath.Base(path)]; isThere {
		return file, nil
	}
	return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
}

func (held *heldFiles) Open(path string, options ...vfs.OpenOption) (vfs.File, error) {
	file, err := held.find(path)
	if err != nil {
		return nil, err
	}
	return &heldView{heldFile: file}, nil
}

func (held *heldFiles) Stat(path string) (vfs.FileInfo, error) {
	file, err := held.find(path)
	if err != nil {
		return nil, err
	}
	return file.info, nil
}

// A held file that is read from its beginning.
type heldView struct {
	*heldFile
	at int64
}

func (view *heldView) Close() error                { return nil }
func (view *heldView) Stat() (vfs.FileInfo, error) { return view.info, nil }
func (view *heldView) ReadAt(to []byte, from int64) (int, error) {
	return io.NewSectionReader(view.File, 0, view.info.Size()).ReadAt(to, from)
}
func (view *heldView) Read(to []byte) (int, error) {
	n, err := view.ReadAt(to, view.at)
	view.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// What a reader opens, because Badger opens nothing for reading that a writer has open, or has left: a
// folder of its own, with links to the tables, which it holds, and copies of the rest.
type badgerCopy struct {
	directory string
	held      []*os.File
}

func copyBadger(directory string) (*badgerCopy, error) {
	to, err := os.MkdirTemp("", "cdb-badger-")
	if err != nil {
		return nil, err
	}
	copied := &badgerCopy{directory: to}
	before, err := namesAndSizes(directory)
	for name, size := range before {
		if err == nil && !isBegun(name, size) {
			err = copied.add(directory, name)
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return copied, errChanged
	}
	if err != nil {
		return copied, err
	}
	after, err := namesAndSizes(directory)
	if err == nil && fmt.Sprint(before) != fmt.Sprint(after) { // which tells a map in order
		err = errChanged
	}
	return copied, err
}

// Logs have their whole size from the first: what is written to one meanwhile is its torn end.
func namesAndSizes(directory string) (map[string]int64, error) {
	all, err := os.ReadDir(directory)
	found := map[string]int64{}
	for _, each := range all {
		if info, err := each.Info(); err == nil {
			found[each.Name()] = info.Size()
		}
	}
	return found, err
}

func (copied *badgerCopy) path(name string) string { return filepath.Join(copied.directory, name) }

func (copied *badgerCopy) add(directory, name string) error {
	file, err := os.Open(filepath.Join(directory, name))
	if err != nil {
		return err
	}
	if strings.HasSuffix(name, ".sst") {
		copied.held = append(copied.held, file)
		return os.Symlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), copied.path(name))
	}
	defer file.Close()
	to, err := os.Create(copied.path(name))
	if err != nil {
		return err
	}
	_, err = io.Copy(to, file)
	return errors.Join(err, to.Close())
}

var endOfLog = regexp.MustCompile(`while opening fid: (\d+).*end offset: (\d+) <`)

// Cuts the log behind its last whole entry, where an error says that Badger wants it so.
func (copied *badgerCopy) cutLog(err error) bool {
	told := endOfLog.FindStringSubmatch(err.Error())
	if copied == nil || told == nil {
		return false
	}
	number, _ := strconv.Atoi(told[1])
	end, _ := strconv.ParseInt(told[2], 10, 64)
	return os.Truncate(copied.path(fmt.Sprintf("%05d.mem", number)), end) == nil
}

func (copied *badgerCopy) remove() {
	if copied == nil {
		return
	}
	for _, file := range copied.held {
		_ = file.Close()
	}
	_ = os.RemoveAll(copied.directory)
}

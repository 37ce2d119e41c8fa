package main

import (
	"encoding/binary"
	"strconv"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// The options compression, max_open_files and height_filter.
func tunePebble(options *pebble.Options, wanted wanted) {
	compressions := map[string]*block.CompressionProfile{
		"snappy": block.SnappyCompression, "zstd": block.ZstdCompression,
	}
	profile, isOther := compressions[wanted.tuning["compression"]]
	if !isOther {
		profile = block.NoCompression
	}
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
		return pebble.UniformDBCompressionSettings(profile)
	})
	if files, err := strconv.Atoi(wanted.tuning["max_open_files"]); err == nil {
		options.MaxOpenFiles = files
	}
	if wanted.tuning["height_filter"] == "yes" {
		options.BlockPropertyCollectors = append(options.BlockPropertyCollectors, func() pebble.BlockPropertyCollector {
			return sstable.NewBlockIntervalCollector(heightsName, heights{wanted.spaces}, nil)
		})
	}
}

const heightsName = "cdb.heights"

// Of each block, and of each table, the heights that keys end with: a reader of one height leaves out
// those that have later ones alone. A deletion ends as what it deletes does.
type heights struct{ spaces []space }

func (heights heights) MapPointKey(key pebble.InternalKey, _ []byte) (sstable.BlockInterval, error) {
	full := key.UserKey
	if len(full) < 9 || int(full[0]) >= len(heights.spaces) || heights.spaces[full[0]].suffixBytes != 8 {
		return sstable.BlockInterval{}, nil
	}
	height := heightOf(full)
	return sstable.BlockInterval{Lower: height, Upper: height + 1}, nil
}

func (heights) MapRangeKeys(sstable.Span) (sstable.BlockInterval, error) {
	return sstable.BlockInterval{}, nil
}

// A height at a key's end, or its complement.
func heightOf(key []byte) uint64 {
	height := binary.BigEndian.Uint64(key[len(key)-8:])
	return min(height, ^height)
}

// Of the latest height that is sought.
func heightFilters(sought *seeks) []pebble.BlockPropertyFilter {
	latest := uint64(0)
	for i := range sought.keys.n() {
		key := sought.keys.at(i)
		if sought.suffixBytes != 8 || len(key) < 8 {
			return nil
		}
		latest = max(latest, heightOf(key))
	}
	return []pebble.BlockPropertyFilter{sstable.NewBlockIntervalFilter(heightsName, 0, latest+1, nil)}
}

// The option session_reuse: iterators of this moment, one of each space, for who comes next; until
// something is written.
type keptCursors struct {
	isOn   bool
	mutex  sync.Mutex
	kept   map[uint8]*pebble.Iterator
	writes uint64
}

// An iterator that was kept, or nil; and how much was written before it, at least.
func (all *keptCursors) take(space uint8) (*pebble.Iterator, uint64) {
	all.mutex.Lock()
	defer all.mutex.Unlock()
	at := all.kept[space]
	delete(all.kept, space)
	return at, all.writes
}

// Whether it is kept from here on.
func (all *keptCursors) give(space uint8, at *pebble.Iterator, writes uint64) bool {
	all.mutex.Lock()
	defer all.mutex.Unlock()
	if writes != all.writes || all.kept[space] != nil {
		return false
	}
	if all.kept == nil {
		all.kept = map[uint8]*pebble.Iterator{}
	}
	all.kept[space] = at
	return true
}

// To be called when something was written, and before the end.
func (all *keptCursors) clear(run func(func() error) error) {
	all.mutex.Lock()
	defer all.mutex.Unlock()
	all.writes++
	for _, at := range all.kept {
		_ = run(at.Close)
	}
	all.kept = nil
}

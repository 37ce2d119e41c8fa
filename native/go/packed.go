package main

// #include "cdb_ordered_kv.h"
import "C"

import (
	"bytes"
	"slices"
	"unsafe"
)

// Packed keys or values, which are the caller's.
type items struct {
	bytes []byte
	ends  []uint64
}

func itemsOf(packed C.okv_items) items {
	if packed.n == 0 {
		return items{}
	}
	ends := unsafe.Slice((*uint64)(unsafe.Pointer(packed.ends)), packed.n)
	return items{unsafe.Slice((*byte)(unsafe.Pointer(packed.bytes)), ends[len(ends)-1]), ends}
}

func (items items) n() int { return len(items.ends) }

func (items items) at(i int) []byte {
	begin := uint64(0)
	if i > 0 {
		begin = items.ends[i-1]
	}
	return items.bytes[begin:items.ends[i]:items.ends[i]]
}

func cloned(of items) items { return items{slices.Clone(of.bytes), slices.Clone(of.ends)} }

// One atomic step, ascending by space and key.
type batch struct {
	ops          []C.okv_op
	keys, values items
}

func (batch batch) n() int { return batch.keys.n() }

// Entry i, whose value is empty where it is deleted.
func (batch batch) at(i int) (space uint8, key, value []byte, isDelete bool) {
	op := batch.ops[i]
	return uint8(op.space), batch.keys.at(i), batch.values.at(i), op.is_delete != 0
}

// Runs of an engine that has no better ones: pages in memory.
type pages struct {
	space        uint8
	keys, values []items
}

func (run *pages) add(keys, values items) error {
	if keys.n() > 0 {
		run.keys, run.values = append(run.keys, cloned(keys)), append(run.values, cloned(values))
	}
	return nil
}

func (run *pages) finish() error { return nil }
func (run *pages) free()         {}
func (run *pages) isEmpty() bool { return len(run.keys) == 0 }

func (run *pages) each(put func(key, value []byte) error) error {
	for page, keys := range run.keys {
		for i := range keys.ends {
			if err := put(keys.at(i), run.values[page].at(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func wantedBy(options *C.okv_options) wanted {
	all := wanted{
		create:     options.create != 0,
		isReadOnly: options.read_only != 0,
		isSynced:   options.mostly == C.OKV_POWER,
		cacheBytes: int64(options.cache_bytes), memtableBytes: int64(options.memtable_bytes),
		late: int(options.n_late_spaces),
	}
	for _, each := range unsafe.Slice(options.spaces, options.n_spaces) {
		all.spaces = append(all.spaces, space{C.GoString(each.name), each.order != C.OKV_ASCENDING,
			each.order == C.OKV_UNFILTERED, int(each.prefix_bytes), int(each.suffix_bytes)})
	}
	return all
}

// A page of entries, which the caller's memory has room for.
type page struct {
	to                   *C.okv_page
	keys, values         []byte
	keyEnds, valueEnds   []uint64
	keysUsed, valuesUsed int
}

func pageOf(to *C.okv_page) *page {
	all := &page{
		to:        to,
		keys:      unsafe.Slice((*byte)(unsafe.Pointer(to.keys)), to.keys_capacity),
		values:    unsafe.Slice((*byte)(unsafe.Pointer(to.values)), to.values_capacity),
		keyEnds:   unsafe.Slice((*uint64)(unsafe.Pointer(to.key_ends)), to.most),
		valueEnds: unsafe.Slice((*uint64)(unsafe.Pointer(to.value_ends)), to.most),
	}
	to.keys_needed, to.values_needed = 0, 0
	if to.n > 0 {
		all.keysUsed, all.valuesUsed = int(all.keyEnds[to.n-1]), int(all.valueEnds[to.n-1])
	}
	return all
}

func (page *page) isFull() bool { return page.to.n >= page.to.most }

// Whether there was room for the entry.
func (page *page) add(key, value []byte) bool {
	keysEnd, valuesEnd := page.keysUsed+len(key), page.valuesUsed+len(value)
	if keysEnd > len(page.keys) || valuesEnd > len(page.values) {
		page.to.keys_needed, page.to.values_needed = C.size_t(keysEnd), C.size_t(valuesEnd)
		return false
	}
	copy(page.keys[page.keysUsed:], key)
	copy(page.values[page.valuesUsed:], value)
	page.keyEnds[page.to.n], page.valueEnds[page.to.n] = uint64(keysEnd), uint64(valuesEnd)
	page.keysUsed, page.valuesUsed = keysEnd, valuesEnd
	page.to.n++
	return true
}

func getMany(cursor cursor, keys items, wanted []C.okv_wanted) error {
	for i := range wanted {
		to := &wanted[i]
		to.length = C.OKV_ABSENT
		value, isThere, err := cursor.find(keys.at(i))
		if err != nil {
			return err
		}
		if !isThere {
			continue
		}
		to.length = C.uint32_t(len(value))
		if from := int(to.from); from < len(value) && to.most > 0 {
			copy(unsafe.Slice((*byte)(unsafe.Pointer(to.to)), to.most), value[from:])
		}
	}
	return nil
}

// What okv_seek_many is asked for.
type seeks struct {
	keys        items
	suffixBytes int
	isBefore    bool
}

func seekMany(cursor cursor, seeks seeks, page *page, found []C.uint8_t, done *C.size_t) error {
	var behind []byte
	for *done = 0; int(*done) < seeks.keys.n() && !page.isFull(); *done++ {
		sought, isThere := seeks.keys.at(int(*done)), false
		if seeks.isBefore {
			behind = append(append(behind[:0], sought...), 0)
			isThere = cursor.seekBefore(behind)
		} else {
			isThere = cursor.seekLike(sought)
		}
		if err := cursor.failed(); !isThere && err != nil {
			return err
		}
		shared := sought[:len(sought)-min(len(sought), seeks.suffixBytes)]
		found[*done] = 0
		if !isThere || !bytes.HasPrefix(cursor.key(), shared) {
			continue
		}
		value, err := cursor.value()
		if err != nil {
			return err
		}
		if !page.add(cursor.key(), value) {
			return nil
		}
		found[*done] = 1
	}
	return nil
}

// A scan; see okv_scan_next.
type scan struct {
	kv          *kv
	view        view
	isOwn       bool // a view that ends with it
	cursor      cursor
	first, last []byte // with last: entries before it; empty: to the end
	isReverse   bool
	isBegun     bool
	isOver      bool
	isPending   bool // the entry at the cursor is still to be given
	err         error
}

func beginScan(kv *kv, in *C.okv_view, number uint8, bounds *C.okv_bounds, isReverse, fillCache bool) (*scan, error) {
	if err := kv.check(); err != nil {
		return nil, err
	}
	begun := &scan{kv: kv, isReverse: isReverse,
		first: C.GoBytes(unsafe.Pointer(bounds.first), C.int(bounds.first_bytes)),
		last:  C.GoBytes(unsafe.Pointer(bounds.end), C.int(bounds.end_bytes))}
	var err error
	if in != nil {
		begun.view = of[view](unsafe.Pointer(in))
	} else if begun.view, err = kv.begin(false); err != nil {
		return nil, err
	} else {
		begun.isOwn = true
	}
	err = caught(func() (err error) {
		begun.cursor, err = begun.view.cursor(number, fillCache)
		return err
	})
	if err != nil {
		gone := begun.view.check()
		begun.end()
		if gone != nil {
			return nil, gone
		}
		return nil, err
	}
	return begun, nil
}

func (scan *scan) end() {
	if scan.cursor != nil {
		scan.cursor.end(false)
	}
	if scan.isOwn {
		scan.view.end()
	}
}

func (scan *scan) move() bool {
	isFirst := !scan.isBegun
	scan.isBegun = true
	switch {
	case !scan.isReverse && isFirst:
		return scan.cursor.seek(scan.first)
	case !scan.isReverse:
		return scan.cursor.next()
	case isFirst && len(scan.last) > 0:
		return scan.cursor.seekBefore(scan.last)
	case isFirst:
		return scan.cursor.seekBefore(nil)
	}
	return scan.cursor.previous()
}

// Whether there is another entry, at which the cursor is then.
func (scan *scan) step() (bool, error) {
	if !scan.move() {
		return false, scan.cursor.failed()
	}
	key := scan.cursor.key()
	isInside := bytes.Compare(key, scan.first) >= 0 && (len(scan.last) == 0 || bytes.Compare(key, scan.last) < 0)
	return isInside, nil
}

func (scan *scan) fill(page *page) error {
	for !scan.isOver && !page.isFull() {
		if !scan.isPending {
			isThere, err := scan.step()
			if err != nil {
				return err
			}
			scan.isOver, scan.isPending = !isThere, isThere
			continue
		}
		value, err := scan.cursor.value()
		if err != nil {
			return err
		}
		if !page.add(scan.cursor.key(), value) {
			return nil
		}
		scan.isPending = false
	}
	if scan.isOver {
		page.to.is_end = 1
	}
	return nil
}

// What was read before a failure is given first.
func (scan *scan) next(page *page) error {
	if err := scan.kv.check(); err != nil {
		return err
	}
	before := page.to.n
	page.to.is_end = 0
	if scan.err == nil {
		scan.err = caught(func() error { return scan.fill(page) })
	}
	if err := scan.view.check(); err != nil || page.to.n > before {
		return err
	}
	return scan.err
}

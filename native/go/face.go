// The library libcdb_go.so: engines in Go, behind the functions that native/engines/foreign.h wants.
//
// An engine is a file with a `database` (engine.go) and a line in `engines`. This file is the C face,
// packed.go what all do with packed entries, doom.go an end for what can't end by itself.
package main

/*
#cgo CFLAGS: -I${SRCDIR}/..
#include <stdlib.h>
#include <string.h>
#include "cdb_ordered_kv.h"
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"unsafe"
)

func main() {}

// What a caller has for a value of Go: memory of C with its number.
func handle(value any) unsafe.Pointer {
	p := C.malloc(C.size_t(unsafe.Sizeof(cgo.Handle(0))))
	*(*cgo.Handle)(p) = cgo.NewHandle(value)
	return p
}

func of[T any](p unsafe.Pointer) T { return (*(*cgo.Handle)(p)).Value().(T) }

func free(p unsafe.Pointer) {
	(*(*cgo.Handle)(p)).Delete()
	C.free(p)
}

func text[T any](to *T, from string) {
	room := unsafe.Slice((*byte)(unsafe.Pointer(to)), unsafe.Sizeof(*to))
	room[copy(room[:len(room)-1], strings.ReplaceAll(from, "\x00", ""))] = 0
}

// Calls body, and tells what it returns or panics with. Bytes of a mapped file that can't be read are a
// panic, too.
func guarded(why *C.cdb_error, body func() error) C.cdb_status {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	err := caught(body)
	if err == nil {
		return C.CDB_OK
	}
	failed := failureOf(err)
	why.status = failed.status
	why.system_errno = C.int32_t(failed.errno)
	why.offset = -1
	text(&why.file, failed.file)
	text(&why.what, strings.Join(strings.Fields(failed.what), " ")) // libraries put errors on lines of their own
	text(&why.advice, failed.advice)
	return failed.status
}

// An open database. After a write that has failed there is nothing but close.
type kv struct {
	database
	isReadOnly bool
	mutex      sync.Mutex // of hasFailed
	hasFailed  bool
}

func (kv *kv) check() error {
	kv.mutex.Lock()
	defer kv.mutex.Unlock()
	if kv.hasFailed {
		return &failure{status: C.CDB_CLOSED, what: "a write has failed", advice: "open it again"}
	}
	return nil
}

func (kv *kv) writing(body func() error) error {
	if kv.isReadOnly {
		return &failure{status: C.CDB_INVALID, what: "it was opened read-only"}
	}
	if err := kv.check(); err != nil {
		return err
	}
	err := caught(body)
	if err != nil {
		kv.mutex.Lock()
		kv.hasFailed = true
		kv.mutex.Unlock()
	}
	return err
}

var versions sync.Map // of an engine's name: what is told of it, as a text of C

//export cdb_foreign_version
func cdb_foreign_version(name *C.char) *C.char {
	engine := C.GoString(name)
	if told, is_there := versions.Load(engine); is_there {
		return told.(*C.char)
	}
	told, _ := versions.LoadOrStore(engine, C.CString(versionOf(engine)))
	return told.(*C.char)
}

func versionOf(engine string) string {
	its, is_there := engines[engine]
	if !is_there {
		return engine
	}
	version, runtime := "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		runtime = strings.Replace(info.GoVersion, "go", "Go ", 1)
		for _, module := range info.Deps {
			if module.Path == its.module {
				version = strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	limits := []metrics.Sample{{Name: "/sched/gomaxprocs:threads"}, {Name: "/gc/gogc:percent"}}
	metrics.Read(limits)
	return fmt.Sprintf("%s %s (%s, GOMAXPROCS=%d, GOGC=%d)", its.library, version, runtime,
		limits[0].Value.Uint64(), limits[1].Value.Uint64())
}

//export cdb_foreign_open
func cdb_foreign_open(name, path *C.char, options *C.okv_options, to **C.okv, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error {
		its, is_there := engines[C.GoString(name)]
		if !is_there {
			return &failure{status: C.CDB_FAILED, what: "this library has no engine " + C.GoString(name)}
		}
		if options.memory_bytes > 0 { // else the heap of all databases grows to twice what is in use
			debug.SetMemoryLimit(int64(options.memory_bytes / 2))
		}
		opened, err := its.open(C.GoString(path), wantedBy(options))
		if err == nil {
			*to = (*C.okv)(handle(&kv{database: opened, isReadOnly: options.read_only != 0}))
		}
		return err
	})
}

//export cdb_foreign_close
func cdb_foreign_close(p *C.okv, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error {
		kv := of[*kv](unsafe.Pointer(p))
		free(unsafe.Pointer(p))
		err := kv.close(kv.check() != nil)
		if kv.check() != nil { // which was told
			return nil
		}
		return err
	})
}

//export cdb_foreign_get_stats
func cdb_foreign_get_stats(p *C.okv, stats *C.okv_stats, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error {
		sequence, ingests, spaces, err := of[*kv](unsafe.Pointer(p)).stats()
		*stats = C.okv_stats{C.uint64_t(sequence), C.uint64_t(ingests), C.uint64_t(spaces)}
		return err
	})
}

//export cdb_foreign_commit
func cdb_foreign_commit(p *C.okv, ops *C.okv_op, keys, values C.okv_items, durability C.okv_durability, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error {
		kv := of[*kv](unsafe.Pointer(p))
		done := batch{unsafe.Slice(ops, keys.n), itemsOf(keys), itemsOf(values)}
		return kv.writing(func() error { return kv.commit(done, durability == C.OKV_POWER) })
	})
}

//export cdb_foreign_run_begin
func cdb_foreign_run_begin(p *C.okv, space C.uint8_t, to **C.okv_run, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error {
		kv := of[*kv](unsafe.Pointer(p))
		return kv.writing(func() error {
			run, err := kv.newRun(uint8(space))
			if err == nil {
				*to = (*C.okv_run)(handle(run))
			}
			return err
		})
	})
}

//export cdb_foreign_run_add
func cdb_foreign_run_add(p *C.okv_run, keys, values C.okv_items, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error {
		return of[run](unsafe.Pointer(p)).add(itemsOf(keys), itemsOf(values))
	})
}

//export cdb_foreign_run_finish
func cdb_foreign_run_finish(p *C.okv_run, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error { return of[run](unsafe.Pointer(p)).finish() })
}

//export cdb_foreign_run_free
func cdb_foreign_run_free(p *C.okv_run) {
	if p != nil {
		_ = caught(func() error { of[run](unsafe.Pointer(p)).free(); return nil })
		free(unsafe.Pointer(p))
	}
}

//export cdb_foreign_ingest
func cdb_foreign_ingest(p *C.okv, runs **C.okv_run, n C.size_t, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error {
		kv := of[*kv](unsafe.Pointer(p))
		var full []run
		for _, each := range unsafe.Slice(runs, n) {
			if its := of[run](unsafe.Pointer(each)); !its.isEmpty() {
				full = append(full, its)
			}
		}
		if len(full) == 0 {
			return nil
		}
		return kv.writing(func() error { return kv.ingest(full) })
	})
}

//export cdb_foreign_view_begin
func cdb_foreign_view_begin(p *C.okv, to **C.okv_view, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error {
		kv := of[*kv](unsafe.Pointer(p))
		view, err := kv.begin(true)
		if err == nil {
			*to = (*C.okv_view)(handle(view))
		}
		return err
	})
}

//export cdb_foreign_view_free
func cdb_foreign_view_free(p *C.okv_view) {
	if p != nil {
		_ = caught(func() error { of[view](unsafe.Pointer(p)).end(); return nil })
		free(unsafe.Pointer(p))
	}
}

// Calls body with a cursor in a view, or in this moment where there is none.
func (kv *kv) reading(p *C.okv_view, space C.uint8_t, reuse C.okv_reuse, body func(cursor) error) error {
	if err := kv.check(); err != nil {
		return err
	}
	var its view
	if p != nil {
		its = of[view](unsafe.Pointer(p))
	} else {
		var err error
		if its, err = kv.begin(false); err != nil {
			return err
		}
		defer its.end()
	}
	err := caught(func() error {
		cursor, err := its.cursor(uint8(space), reuse == C.OKV_OFTEN)
		if err != nil {
			return err
		}
		isWell := false
		defer func() { cursor.end(isWell) }()
		err = body(cursor)
		isWell = err == nil
		return err
	})
	if gone := its.check(); gone != nil { // what was read then makes no sense, perhaps
		return gone
	}
	return err
}

//export cdb_foreign_get_many
func cdb_foreign_get_many(p *C.okv, view *C.okv_view, space C.uint8_t, keys C.okv_items, wanted *C.okv_wanted, reuse C.okv_reuse, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error {
		return of[*kv](unsafe.Pointer(p)).reading(view, space, reuse, func(cursor cursor) error {
			return getMany(cursor, itemsOf(keys), unsafe.Slice(wanted, keys.n))
		})
	})
}

//export cdb_foreign_seek_many
func cdb_foreign_seek_many(p *C.okv, view *C.okv_view, space C.uint8_t, keys C.okv_items, suffix_bytes C.uint32_t, is_before C.int32_t, reuse C.okv_reuse, page *C.okv_page, found *C.uint8_t, done *C.size_t, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error {
		return of[*kv](unsafe.Pointer(p)).reading(view, space, reuse, func(cursor cursor) error {
			seeks := seeks{itemsOf(keys), int(suffix_bytes), is_before != 0}
			return seekMany(cursor, seeks, pageOf(page), unsafe.Slice(found, keys.n), done)
		})
	})
}

//export cdb_foreign_scan_begin
func cdb_foreign_scan_begin(p *C.okv, view *C.okv_view, space C.uint8_t, bounds *C.okv_bounds, is_reverse C.int32_t, reuse C.okv_reuse, to **C.okv_scan, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error {
		begun, err := beginScan(of[*kv](unsafe.Pointer(p)), view, uint8(space), bounds, is_reverse != 0, reuse == C.OKV_OFTEN)
		if err == nil {
			*to = (*C.okv_scan)(handle(begun))
		}
		return err
	})
}

//export cdb_foreign_scan_next
func cdb_foreign_scan_next(p *C.okv_scan, page *C.okv_page, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error { return of[*scan](unsafe.Pointer(p)).next(pageOf(page)) })
}

//export cdb_foreign_scan_free
func cdb_foreign_scan_free(p *C.okv_scan) {
	if p != nil {
		_ = caught(func() error { of[*scan](unsafe.Pointer(p)).end(); return nil })
		free(unsafe.Pointer(p))
	}
}

func written(p *C.okv, why *C.cdb_error, body func(database) error) C.cdb_status {
	return guarded(why, func() error {
		kv := of[*kv](unsafe.Pointer(p))
		return kv.writing(func() error { return body(kv.database) })
	})
}

//export cdb_foreign_checkpoint
func cdb_foreign_checkpoint(p *C.okv, why *C.cdb_error) C.cdb_status {
	return written(p, why, database.checkpoint)
}

//export cdb_foreign_settle
func cdb_foreign_settle(p *C.okv, why *C.cdb_error) C.cdb_status {
	return written(p, why, database.settle)
}

//export cdb_foreign_verify
func cdb_foreign_verify(p *C.okv, why *C.cdb_error) C.cdb_status {
	return guarded(why, func() error {
		kv := of[*kv](unsafe.Pointer(p))
		if err := kv.check(); err != nil {
			return err
		}
		return kv.verify()
	})
}

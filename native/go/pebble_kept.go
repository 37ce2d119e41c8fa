package main

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// Iterators of this moment, one a space, for who looks up next: to make one is two thirds of what a
// name that is looked up alone costs. A write ends them, as what they see is over; so does a flush or
// a merge, as they hold the files that it replaces.
type keptIterators struct {
	mutex   sync.Mutex
	bySpace map[uint8]*pebble.Iterator
	moment  uint64
	changes int            // that go on
	ending  sync.WaitGroup // iterators
}

// One that is kept, or nil; and the moment that one made from here on may be given back at.
func (kept *keptIterators) take(space uint8) (*pebble.Iterator, uint64) {
	kept.mutex.Lock()
	defer kept.mutex.Unlock()
	at := kept.bySpace[space]
	delete(kept.bySpace, space)
	return at, kept.moment
}

// Whether it is kept.
func (kept *keptIterators) give(space uint8, at *pebble.Iterator, moment uint64) bool {
	kept.mutex.Lock()
	defer kept.mutex.Unlock()
	if kept.changes > 0 || moment != kept.moment || kept.bySpace[space] != nil {
		return false
	}
	if kept.bySpace == nil {
		kept.bySpace = map[uint8]*pebble.Iterator{}
	}
	kept.bySpace[space] = at
	return true
}

// While it goes on none is kept: who has seen what it writes must not see less afterwards.
func (kept *keptIterators) during(change func() error) error {
	kept.end(1)
	defer kept.end(-1)
	kept.ending.Wait()
	return change()
}

// Ends all of them, outside of the mutex: Pebble may keep the lock that this takes. begun: 1 where a
// change begins, -1 where it is over.
func (kept *keptIterators) end(begun int) {
	kept.mutex.Lock()
	kept.moment++
	kept.changes += begun
	ended := kept.bySpace
	kept.bySpace = nil
	if len(ended) > 0 { // what adds nothing may not meet who waits
		kept.ending.Add(len(ended))
	}
	kept.mutex.Unlock()
	for _, at := range ended {
		_ = caught(at.Close)
		kept.ending.Done()
	}
}

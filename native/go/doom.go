package main

import "sync"

// The end of a database whose library can't go on: it would end the process, or wait for ever.
//
// A library may do both where a write of its own goroutines fails. So each write goes on in a goroutine
// of its own, which is waited for until the end comes; and who meets the end in a library's goroutine
// stays there for good, with die(): to leave it would unlock what is not locked, or go on.
type doom struct {
	once sync.Once
	come chan struct{}
	err  error
}

func newDoom() *doom { return &doom{come: make(chan struct{})} }

// It has come, because of this.
func (doom *doom) because(err error) {
	doom.once.Do(func() {
		doom.err = err
		close(doom.come)
	})
}

func (doom *doom) die(err error) {
	doom.because(err)
	select {}
}

func (doom *doom) hasCome() bool {
	select {
	case <-doom.come:
		return true
	default:
		return false
	}
}

// What body returns or panics with, or why it never will. Body must use no memory of the caller's.
func (doom *doom) run(body func() error) error {
	done := make(chan error, 1)
	go func() { done <- caught(body) }()
	select {
	case err := <-done:
		if doom.hasCome() {
			return doom.err
		}
		return err
	case <-doom.come:
		return doom.err
	}
}

package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4/pb"
)

// What has more entries than a transaction of Badger may have is written to the file "redo" first, which
// is synced, and then, by its version, in parts. What a crash leaves of them the next opening writes
// again; one that only reads sees the version before.
//
//	version (8), then of each entry: space (1), whether it is deleted (1), lengths of key and value
//	(4 each), key and value; and a CRC-64 of it all (8)
const redoFile, unfinishedRedo = "redo", "unfinished-redo"

var redoTable = crc64.MakeTable(crc64.ECMA)

func (its *badgerDB) path(name string) string { return filepath.Join(its.directory, name) }

func (its *badgerDB) writeByRedo(each func(put func(space uint8, key, value []byte, isDelete bool) error) error) error {
	if err := its.writeRedo(each); err != nil {
		return err
	}
	return its.redo()
}

func (its *badgerDB) writeRedo(each func(put func(uint8, []byte, []byte, bool) error) error) error {
	file, err := os.Create(its.path(unfinishedRedo))
	if err != nil {
		return err
	}
	defer file.Close()
	sum := crc64.New(redoTable)
	to := bufio.NewWriterSize(io.MultiWriter(file, sum), 1<<20)
	head := binary.LittleEndian.AppendUint64(nil, its.version+1)
	if _, err := to.Write(head); err != nil {
		return err
	}
	err = each(func(space uint8, key, value []byte, isDelete bool) error {
		head = append(head[:0], space, 0)
		if isDelete {
			head[1] = 1
		}
		head = binary.LittleEndian.AppendUint32(head, uint32(len(key)))
		head = binary.LittleEndian.AppendUint32(head, uint32(len(value)))
		for _, part := range [][]byte{head, key, value} {
			if _, err := to.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, to.Flush()); err != nil {
		return err
	}
	if _, err := file.Write(binary.LittleEndian.AppendUint64(nil, sum.Sum64())); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(its.path(unfinishedRedo), its.path(redoFile)); err != nil {
		return err
	}
	return synced(its.directory)
}

// Write what the file has, if it is there, and remove it.
func (its *badgerDB) redo() error {
	all, err := os.ReadFile(its.path(redoFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	version, entries, err := wholeRedo(all)
	if err != nil {
		return err
	}
	err = its.run(func() error {
		loader := its.db.NewKVLoader(1)
		for len(entries) > 0 {
			space, isDelete := entries[0], entries[1]
			key := binary.LittleEndian.Uint32(entries[2:])
			value := binary.LittleEndian.Uint32(entries[6:])
			entries = entries[10:]
			entry := &pb.KV{Key: spaced(nil, space, entries[:key]), Value: entries[key : key+value], Version: version, Meta: []byte{isDelete}}
			if err := loader.Set(entry); err != nil {
				return err
			}
			entries = entries[key+value:]
		}
		if err := loader.Set(&pb.KV{Key: sequenceKey, Value: isWritten, Version: version}); err != nil {
			return err
		}
		return loader.Finish()
	})
	if err != nil {
		return badgerFailure(err)
	}
	its.show(version)
	return errors.Join(os.Remove(its.path(redoFile)), synced(its.directory))
}

func wholeRedo(all []byte) (version uint64, entries []byte, err error) {
	end := len(all) - 8
	if end < 8 || crc64.Checksum(all[:end], redoTable) != binary.LittleEndian.Uint64(all[end:]) {
		return 0, nil, damage(redoFile, "it does not match its checksum")
	}
	return binary.LittleEndian.Uint64(all), all[8:end], nil
}

// Of a reader: the last version that is whole.
func (its *badgerDB) seeWhole() error {
	all, err := os.ReadFile(its.copied.path(redoFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	version, _, err := wholeRedo(all)
	its.version = min(its.version, version-1)
	return err
}

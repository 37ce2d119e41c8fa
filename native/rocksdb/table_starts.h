// Where tables begin that follow on another one in their level.
//
// RocksDB before 8.6 takes such a table that is damaged where it begins for the end of its level
// when Next() gets there, and what follows in it is missing. Seek() finds the damage. So who goes
// on by Next() seeks wherever a table may begin.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/metadata.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

class TableStarts {
 public:
  using Keys = std::vector<std::string>;  // ascending

  // Of the tables that an iterator over the family reads; null if they have changed since.
  std::shared_ptr<const Keys> of(rocksdb::Iterator &rows, rocksdb::DB &db,
                                 rocksdb::ColumnFamilyHandle *family) {
    std::string version;
    if (!rows.GetProperty("rocksdb.iterator.super-version-number", &version).ok()) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (version == version_) return keys_;
    const auto keys = std::make_shared<const Keys>(present(db, family));
    if (version != present_version(db, family)) return nullptr;
    version_ = version;
    return keys_ = keys;
  }

 private:
  static Keys present(rocksdb::DB &db, rocksdb::ColumnFamilyHandle *family) {
    rocksdb::ColumnFamilyMetaData data;
    db.GetColumnFamilyMetaData(family, &data);
    Keys keys;
    for (const rocksdb::LevelMetaData &level : data.levels)
      if (level.level > 0)  // tables of level 0 overlap, and are no sequence
        for (const rocksdb::SstFileMetaData &table : level.files) keys.push_back(table.smallestkey);
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  static std::string present_version(rocksdb::DB &db, rocksdb::ColumnFamilyHandle *family) {
    uint64_t version = 0;
    db.GetIntProperty(family, rocksdb::DB::Properties::kCurrentSuperVersionNumber, &version);
    return std::to_string(version);
  }

  std::mutex mutex_;
  std::string version_;  // of RocksDB's, which a change of tables gives a new one
  std::shared_ptr<const Keys> keys_;
};

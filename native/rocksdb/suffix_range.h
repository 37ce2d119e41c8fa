// The option `height_filter`: each table says which last bytes of keys it has from the least to the
// greatest, which are heights where a layout's keys end with one; and a reader of one height leaves
// out tables that have none it could want.
//
// A merge writes what its own table has, so it stays exact. Also of deletions, whose keys end like
// those that they delete.
#pragma once

#include <rocksdb/options.h>
#include <rocksdb/table_properties.h>

#include <algorithm>
#include <memory>
#include <string>

class SuffixRange : public rocksdb::TablePropertiesCollector {
 public:
  static constexpr const char *kLeast = "cdb.least_suffix", *kGreatest = "cdb.greatest_suffix";

  explicit SuffixRange(size_t n_bytes) : n_bytes_(n_bytes) {}
  const char *Name() const override { return "cdb.SuffixRange"; }
  rocksdb::Status AddUserKey(const rocksdb::Slice &key, const rocksdb::Slice &, rocksdb::EntryType,
                             rocksdb::SequenceNumber, uint64_t) override {
    if (key.size() < n_bytes_) return rocksdb::Status::OK();  // none of the layout's
    const std::string suffix(key.data() + key.size() - n_bytes_, n_bytes_);
    if (least_.empty() || suffix < least_) least_ = suffix;
    if (suffix > greatest_) greatest_ = suffix;
    return rocksdb::Status::OK();
  }
  rocksdb::Status Finish(rocksdb::UserCollectedProperties *properties) override {
    if (!least_.empty()) *properties = {{kLeast, least_}, {kGreatest, greatest_}};
    return rocksdb::Status::OK();
  }
  rocksdb::UserCollectedProperties GetReadableProperties() const override { return {}; }

  // Has a reader leave out tables without any suffix from this one on, or up to it.
  static void leave_out(const std::string &suffix, bool is_before, rocksdb::ReadOptions *options) {
    options->table_filter = [suffix, is_before](const rocksdb::TableProperties &about) {
      const auto &said = about.user_collected_properties;
      const auto end = said.find(is_before ? kLeast : kGreatest);
      if (end == said.end()) return true;
      return is_before ? end->second <= suffix : end->second >= suffix;
    };
  }

 private:
  const size_t n_bytes_;
  std::string least_, greatest_;
};

class SuffixRanges : public rocksdb::TablePropertiesCollectorFactory {
 public:
  explicit SuffixRanges(size_t n_bytes) : n_bytes_(n_bytes) {}
  const char *Name() const override { return "cdb.SuffixRanges"; }
  rocksdb::TablePropertiesCollector *CreateTablePropertiesCollector(Context) override {
    return new SuffixRange(n_bytes_);
  }

 private:
  const size_t n_bytes_;
};

// Calls of cdb_name_index.h, in RocksDB's module, held against a map. The input says which.

#include "name_index/cdb_name_index_api.h"

#include "calls.h"
#include "input.h"
#include "scratch.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

namespace {

using Name = std::array<uint8_t, CDB_NAME_BYTES>;

const uint8_t *bytes_of(const std::vector<Name> &names) {
  return reinterpret_cast<const uint8_t *>(names.data());
}

class Session {
 public:
  explicit Session(Input *input) : input_(*input), options_{0, 1u << 20} { open(); }
  ~Session() { close(); }
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  void call() {
    cdb_error error{};
    switch (input_.below(8)) {
      case 1:
        is_ok(cdb_name_index_settle(index_, &error), &error);
        break;
      case 2:
        rewind();
        break;
      case 3:
        reopen();
        break;
      case 4:
        find();
        break;
      default:
        put();
        break;
    }
  }

  void check() {
    find();
    reopen();
    find();
  }

 private:
  void open() {
    cdb_error error{};
    is_ok(cdb_name_index_open(directory_.path().c_str(), &options_, &index_, &error), &error);
    cdb_watermark covered;
    cdb_name_index_covered(index_, &covered);
    require(covered.rows == names_.size(), "the watermark is the last one given");
    require(names_.empty() || std::equal(names_.back().begin(), names_.back().end(), covered.tie),
            "the last name is that of the last row");
  }

  void close() {
    cdb_error error{};
    is_ok(cdb_name_index_close(index_, &error), &error);
  }

  void reopen() {
    close();
    options_.read_only = input_.below(4) == 0 ? 1 : 0;
    open();
    if (options_.read_only == 0) return;
    cdb_error error{};
    require(!is_ok(cdb_name_index_settle(index_, &error), &error, CDB_INVALID),
            "readers can't write");
    find();
    close();
    options_.read_only = 0;
    open();
  }

  cdb_watermark watermark(size_t rows) const {
    cdb_watermark covered{rows, {}};
    if (rows > 0) std::copy(names_[rows - 1].begin(), names_[rows - 1].end(), covered.tie);
    return covered;
  }

  // The names of the next rows; a wrong number of rows in the watermark is refused.
  void put() {
    const size_t before = names_.size();
    std::vector<Name> names;
    for (size_t n = input_.below(70); n > 0; --n) {
      Name name{};
      std::fill_n(name.begin(), 24, input_.byte());
      const uint64_t number = ++named_;
      for (size_t i = 0; i < 8; ++i) name[24 + i] = static_cast<uint8_t>(number >> 8 * (7 - i));
      names.push_back(name);
    }
    names_.insert(names_.end(), names.begin(), names.end());
    cdb_watermark covered = watermark(names_.size());
    const bool is_wrong = input_.below(8) == 0;
    if (is_wrong) covered.rows += 1 + input_.below(2);
    cdb_error error{};
    const cdb_status status =
        cdb_name_index_put(index_, bytes_of(names), names.size(), &covered, &error);
    const bool is_put = is_ok(status, &error, CDB_INVALID);
    require(is_put != is_wrong, "only the names up to the watermark are taken");
    if (!is_put) names_.resize(before);
  }

  void rewind() {
    const size_t rows = names_.size() - std::min(names_.size(), size_t{input_.byte()});
    const cdb_watermark covered = watermark(rows);
    cdb_error error{};
    is_ok(cdb_name_index_begin_rewind(index_, &covered, &error), &error);
    std::vector<Name> dropped(names_.begin() + static_cast<ptrdiff_t>(rows), names_.end());
    names_.resize(rows);
    const size_t first = dropped.size() / (1 + input_.below(3));
    is_ok(cdb_name_index_erase(index_, bytes_of(dropped), first, &error), &error);
    find_none(dropped);
    if (input_.below(3) == 0) return reopen();  // which ends it
    is_ok(cdb_name_index_erase(index_, bytes_of(dropped) + first * CDB_NAME_BYTES,
                               dropped.size() - first, &error),
          &error);
    is_ok(cdb_name_index_end_rewind(index_, &error), &error);
    find_none(dropped);
  }

  std::vector<uint64_t> rows_of(const std::vector<Name> &names) {
    std::vector<uint64_t> rows(names.size(), UINT64_MAX);
    cdb_error error{};
    is_ok(cdb_name_index_find(index_, bytes_of(names), names.size(), rows.data(), &error), &error);
    return rows;
  }

  void find() {
    const std::vector<uint64_t> rows = rows_of(names_);
    for (size_t i = 0; i < rows.size(); ++i) require(rows[i] == i + 1, "a name leads to its row");
    std::vector<Name> absent(names_);
    for (Name &name : absent) name[0] ^= 0x80, name[23] ^= 1;
    find_none(absent);
  }

  void find_none(const std::vector<Name> &names) {
    for (const uint64_t row : rows_of(names)) require(row == 0, "what is absent has no row");
  }

  Input &input_;
  cdb_name_index_options options_;
  Scratch directory_;
  cdb_name_index *index_ = nullptr;
  std::vector<Name> names_;  // of rows 1, 2, …
  uint64_t named_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  return run_session<Session>(data, bytes);
}

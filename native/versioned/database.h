// One database of the bench: what is written and asked for, and whether it is right.
#pragma once

#include "layout.h"
#include "model.h"

#include <memory>
#include <string>
#include <vector>

namespace cdb::versioned {

class Database {
 public:
  Database(const std::string &path, const cdb_versioned_options &options,
           const cdb_versioned_shape &shape);

  // As cdb_versioned.h says.
  uint64_t count() const { return model_.count(); }
  uint64_t prepare(uint32_t version);
  void commit();
  void draw(uint32_t first, uint32_t n, bool are_absent);
  void get(uint32_t as_of);
  void scan(uint32_t as_of);
  uint32_t next(uint32_t most);
  cdb_versioned_checked check();
  void checkpoint() { engine_.checkpoint(); }
  void settle() { engine_.settle(); }
  void close();

 private:
  // Rows that a scan gave, or the answers to a question.
  struct Given {
    Bytes names, values;
    std::vector<uint64_t> value_ends;
    std::vector<uint32_t> versions;
  };

  bool is_newest(uint32_t as_of) const { return as_of >= model_.shape().versions; }
  void check_answers();
  void check_rows();
  void tell(uint32_t key, uint32_t version, const Span &value, bool is_right);

  const Model model_;
  const std::unique_ptr<Layout> layout_;
  const std::array<okv_space, 3> spaces_;
  coin_set::Engine engine_;

  uint32_t prepared_ = 0;  // a version
  Bytes values_;
  Rows rows_;

  struct Drawn {
    uint32_t key;  // of none: as many as there are
    std::array<uint8_t, kNameBytes> name;
  };
  std::vector<Drawn> drawn_;
  std::vector<const uint8_t *> names_;
  Answer answer_;

  uint32_t as_of_ = 0;
  std::unique_ptr<RowScan> scan_;  // goes before the engine does
  std::vector<bool> seen_;
  Given given_;

  cdb_versioned_checked checked_{};
};

}  // namespace cdb::versioned

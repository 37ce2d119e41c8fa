// Looks for all damage to the files of a coin log, of which not a byte is changed.
//
// Each derived file is held against its checksums by itself, so that all that are damaged are told.
// Then all blocks are read. Where something derived is damaged, the log is read without it: then
// nothing but the log itself can be at fault, and of that the first damage is told.
#pragma once

#include "coin_log/store/reader.h"

#include <functional>
#include <queue>

namespace cdb::coin_log {

class Inspection {
 public:
  explicit Inspection(const Directory &directory) : directory_(directory) {}
  // Look on, at so many coins at most.
  void next(uint64_t max_coins, cdb_coin_log_step *step) {
    with_readable_mappings(*directory_.lost, [=] { look_on(max_coins, step); });
  }

 private:
  void look_on(uint64_t max_coins, cdb_coin_log_step *step);
  void look_at_acked();
  void look_at_derived();
  void look_at_file(const std::string &file, const std::function<void()> &read);
  void open();
  void read_on(uint64_t max_coins, cdb_coin_log_step *step);
  void look_at_log_alone();
  void note(const Failure &failure);
  void note_and_look_on(const Failure &failure);
  void tell(const Failure &failure, cdb_coin_log_step *step) const;

  Directory directory_;
  bool is_begun_ = false;
  std::queue<Failure> untold_;
  std::set<std::string> damaged_files_;
  Access access_;
  Readers readers_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace cdb::coin_log

// Checkpoints: what was derived from the log since the last one is written down, so that opening
// need not replay that: first the run and the history section, then the manifest that names them,
// then what the manifest no longer names is removed. That takes place in a thread of its own, if
// there is one to be had, from copies and from what does not change meanwhile.
//
// When much has come since the last base (base.h), a new one is written before, which takes in all
// blocks but the newest ones: a rewind to before its last block would have to write it anew.
//
// The writer's alone. Of what readers see they change the index, and only in start() and finish().
#pragma once

#include "rules/parents.h"
#include "coin_log/store/manifest.h"
#include "coin_log/index/seal.h"
#include "coin_log/state/state.h"

#include <array>
#include <future>

namespace cdb::coin_log {

class Checkpoints {
 public:
  Checkpoints(const Directory &directory, const cdb_coin_log_options &options, Manifest manifest)
      : directory_(directory), options_(options), manifest_(std::move(manifest)) {}

  // As it is on the disk, or, while a checkpoint is under way, as it is going to be.
  const Manifest &manifest() const { return manifest_; }
  void write_manifest() const { coin_log::write_manifest(directory_, manifest_); }
  // The next opening rebuilds what is derived, with secondary keys or without.
  void uncover(bool has_keys) {
    manifest_.uncover();
    manifest_.has_keys = has_keys;
  }

  // Opening gives those that there are, in their order.
  void add_section(const SectionPlace &place) { sections_.push_back(place); }
  // Of the last section, which vouches for all; 0 without one.
  uint64_t history_checksum() const { return sections_.empty() ? 0 : sections_.back().checksum; }
  // Remove runs and sections that a crash has left without a manifest that names them.
  void remove_strays() const;

  // The rows that blocks spend which no checkpoint covers, in their order.
  const std::vector<uint32_t> &new_spent_rows() const { return new_spent_rows_; }
  void add_spent_rows(const uint32_t *rows, size_t n) {
    new_spent_rows_.insert(new_spent_rows_.end(), rows, rows + n);
  }
  void correct_spent_row(size_t spend, uint32_t row) { new_spent_rows_[spend] = row; }

  bool is_due(const State &state) const;
  // Whether enough has come, as nothing more does, that the next opening would take a while.
  bool is_worthwhile(const State &state) const;
  // Everything must be verified, and the log synced. is_last: nothing is accepted any more.
  void start(State &state, Access &access, const Parents &parents, bool is_last);
  // Wait for the one under way, if there is one.
  void finish(State &state, Access &access);
  // The same if it is ready.
  void finish_if_ready(State &state, Access &access);

  // The rows that the blocks from this one on have spent; they are forgotten. From now on the
  // manifest in memory covers none of those blocks.
  std::vector<uint32_t> take_spent_rows(const State &state, size_t block);
  // The same of the base, once there are no such rows: one of fewer blocks, or none. What the
  // blocks behind it spend is in new_spent_rows() then.
  std::shared_ptr<const Base> cut_base(const State &state, size_t block, const Parents &parents);
  // Have the manifest tell of a rewind to an offset, durably.
  void note_rewind(const LastRewind &rewind);
  // The same in memory, while opening.
  void take_up_rewind(const LastRewind &rewind);

 private:
  struct Written {
    Manifest manifest;
    std::array<Runs, kIndexes> runs;
    SectionPlace section;
  };
  // Of the state it reads the runs, and what was set aside.
  Written write(Manifest manifest, const Section &section, const State &state,
                const std::vector<std::string> &replaced) const;
  bool is_base_due(const State &state, bool is_last) const;
  void move_base(State &state, Access &access, const Parents &parents);
  std::shared_ptr<const Base> write_base(const State &state, size_t blocks, const Parents &parents);
  Section uncovered_section(const State &state, const Parents &parents) const;
  void uncover_section(const State &state);
  // Have the manifest in memory cover so many blocks.
  void cover(const State &state, size_t blocks);

  Directory directory_;
  cdb_coin_log_options options_;
  Manifest manifest_;
  std::vector<SectionPlace> sections_;
  std::vector<std::string> replaced_;  // files that the next manifest does not name
  std::vector<uint32_t> new_spent_rows_;
  std::future<Written> under_way_;  // uses what is above
};

}  // namespace cdb::coin_log

// Opening: the derived files are loaded, and the log behind them is replayed.
#include "failure.h"
#include "reader.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

// Before damage only the last rewind counts that it tells of, if it can be read.
Manifest manifest_at(const Directory &directory, const cdb_coin_log_options &options) {
  Manifest manifest(NameBits(options.bucket_bits, options.name_bits, random_hash_key()));
  try {
    read_manifest(directory, &manifest);
  } catch (const Failure &) {
    if (options.before_damage == 0) throw;
  }
  if (options.before_damage != 0) manifest.uncover();
  return manifest;
}

cdb_coin_log_options checked(const cdb_coin_log_options &options) {
  const bool fine =
      options.memtable_coins > 0 && options.merge_runs >= 2 && options.bucket_bits >= 1 &&
      options.bucket_bits <= 24 && options.name_bits >= 1 && options.name_bits <= 64 &&
      options.recent_bits <= 24 && (options.before_damage == 0 || options.read_only != 0);
  if (!fine) throw Failure(COIN_LOG_INVALID, "", "an option is out of its range");
  return options;
}

// `acked` first, so that no crash leaves a log without it.
const Directory &with_log(const Directory &directory, Acked *acked, bool read_only) {
  if (!read_only && !exists(directory, kLogFile)) {
    acked->mend();
    make_log(directory);
  }
  return directory;
}

}  // namespace

Store::Store(const Directory &directory, const cdb_coin_log_options &options)
    : directory_(directory),
      options_(checked(options)),
      manifest_(manifest_at(directory_, options_)),
      acked_(directory_, is_read_only()),
      log_(with_log(directory_, &acked_, is_read_only()), is_read_only()),
      index_(manifest_.bits),
      epoch_on_opening_(manifest_.epoch),
      epoch_(std::max(manifest_.epoch, acked_.epoch())),
      recent_names_(options_.recent_bits),
      unverified_(options_.unverified_spends) {
  check_acked();
  if (!is_read_only()) {
    make_directory(directory_, kDerivedFolder);
    acked_.mend();
  }
  acked_is_damaged_ = !acked_.is_whole();
  take_up_rewind();
  if (has_all_derived_files())
    load_derived();
  else
    forget_derived();
  if (!is_read_only()) remove_strays();
  replay();
}

// It was there before the log was.
void Store::check_acked() const {
  const bool is_forgiven = options_.forgiving != 0 || options_.before_damage != 0;
  if (acked_.is_lost() && !is_forgiven)
    throw corrupt(kAckedFile, acked_.is_missing() ? "it is missing" : "damaged");
}

bool Store::has_all_derived_files() const {
  if (manifest_.history_bytes > 0 && !exists(directory_, kHistoryFile)) return false;
  return std::all_of(manifest_.runs.begin(), manifest_.runs.end(), [this](const RunName &run) {
    return exists(directory_, run_file(run.number));
  });
}

// The files that are left must not be taken for those that are about to be made.
void Store::forget_derived() {
  manifest_.uncover();
  if (!is_read_only()) write_manifest(directory_, manifest_);
}

void Store::load_derived() {
  check_last_covered();
  Runs runs;
  for (const RunName &run : manifest_.runs)
    runs.push_back(std::make_shared<const Run>(directory_, run, manifest_.bits));
  index_.adopt(runs);
  load_history();
  parents_.restore_rewards(manifest_.rewards);
  rows_ = static_cast<uint32_t>(manifest_.covered_rows);
  last_checksum_ = manifest_.last_checksum;
  log_.set_end(manifest_.covered_bytes);
}

void Store::check_last_covered() const {
  if (manifest_.covered_bytes == 0) return;
  const uint64_t offset = manifest_.last_record;
  const uint64_t length = manifest_.covered_bytes - offset;
  if (log_.file_bytes() < manifest_.covered_bytes)
    throw corrupt(kLogFile, "it has " + std::to_string(log_.file_bytes()) + " bytes, and " +
                                std::to_string(manifest_.covered_bytes) + " were acknowledged");
  if (!is_intact(log_.at(offset), length, offset) ||
      read_header(log_.at(offset)).checksum != manifest_.last_checksum)
    throw corrupt(kLogFile, "damaged at byte " + std::to_string(offset));
}

void Store::load_history() {
  std::vector<uint32_t> spent_rows, early_rows;
  const auto append = [](auto *to, const auto &from) {
    to->insert(to->end(), from.begin(), from.end());
  };
  read_sections(directory_, manifest_.history_bytes,
                [&](const SectionPlace &place, const Section &section) {
                  if (section.first_block != blocks_.size()) throw corrupt_derived(kHistoryFile);
                  append(&blocks_, section.blocks);
                  append(&spent_rows, section.spent_rows);
                  append(&early_rows, section.early_rows);
                  sections_.push_back(place);
                });
  if (history_checksum() != manifest_.history_checksum) throw corrupt_derived(kHistoryFile);
  check_block_table();

  spent_.resize(manifest_.covered_rows);
  const uint32_t *row = spent_rows.data();
  for (size_t block = 0; block < blocks_.size(); ++block) {
    const BlockLine &line = blocks_[block];
    while (64 * block_hints_.size() < uint64_t{line.first_row} + line.geometry.coins)
      block_hints_.push_back(static_cast<uint32_t>(block));
    for (const uint32_t *end = row + line.geometry.spends; row < end; ++row) {
      if (*row >= spent_.size()) throw corrupt_derived(kHistoryFile);
      spent_[*row] = line.index;
    }
  }
  for (const uint32_t early : early_rows) {
    if (early >= spent_.size()) throw corrupt_derived(kHistoryFile);
    CoinView view;
    fetch(&early, 1, &view);
    parents_.add_early(early, Parents::head_of(view.parent));
  }
}

// Of the last section, which vouches for all.
uint64_t Store::history_checksum() const {
  return sections_.empty() ? 0 : sections_.back().checksum;
}

// Its lines follow on each other, and end where the manifest says.
void Store::check_block_table() const {
  uint64_t offset = 0, row = 0;
  int64_t newest = -1;
  for (const BlockLine &line : blocks_) {
    if (line.offset != offset || line.first_row != row || line.index <= newest ||
        !line.geometry.is_sound())
      throw corrupt_derived(kHistoryFile);
    offset += line.geometry.length();
    row += line.geometry.coins;
    newest = line.index;
    if (offset > manifest_.covered_bytes) break;
  }
  if (blocks_.size() != manifest_.covered_blocks || offset != manifest_.covered_bytes ||
      row != manifest_.covered_rows)
    throw corrupt_derived(kHistoryFile);
}

// Runs and sections that a crash has left without a manifest that names them.
void Store::remove_strays() {
  erase_behind_sections(directory_, manifest_.history_bytes);
  std::set<std::string> wanted = {".", "..", "manifest", "history"};
  for (const RunName &run : manifest_.runs) wanted.insert(run_file(run.number).substr(8));
  for (const std::string &name : list_directory(directory_, kDerivedFolder))
    if (wanted.count(name) == 0) remove_file(directory_, std::string(kDerivedFolder) + "/" + name);
}

cdb_coin_log_totals Store::totals() const {
  return {blocks_.size(),
          rows_,
          blocks_.empty() ? 0 : blocks_.back().index,
          log_.end(),
          index_.runs().size(),
          records_checked_,
          index_.probes() + parents_.probes(),
          acked_is_damaged_ ? 1 : 0};
}

void Store::check_not_rewound() const {
  if (!is_read_only() || options_.before_damage != 0) return;
  Manifest now = manifest_;
  if (read_manifest(directory_, &now) && now.epoch != epoch_on_opening_ &&
      now.epoch != manifest_.epoch)
    throw Failure(COIN_LOG_REWOUND, "", "the one who writes has rewound it; open it again");
}

uint64_t Store::offset_of(size_t block) const {
  return block < blocks_.size() ? blocks_[block].offset : log_.end();
}

uint32_t Store::first_row_of(size_t block) const {
  return block < blocks_.size() ? blocks_[block].first_row : rows_;
}

// Of the record before the block's; 0 for the first one.
uint64_t Store::checksum_before(size_t block) const {
  if (block == blocks_.size()) return last_checksum_;
  return block == 0 ? 0 : read_header(log_.at(blocks_[block - 1].offset)).checksum;
}

size_t Store::block_at(uint64_t offset) const {
  const auto line =
      std::lower_bound(blocks_.begin(), blocks_.end(), offset,
                       [](const BlockLine &each, uint64_t wanted) { return each.offset < wanted; });
  return static_cast<size_t>(line - blocks_.begin());
}

size_t Store::blocks_up_to(int64_t block_index) const {
  const auto above = std::upper_bound(
      blocks_.begin(), blocks_.end(), block_index,
      [](int64_t index, const BlockLine &line) { return index < int64_t{line.index}; });
  return static_cast<size_t>(above - blocks_.begin());
}

std::pair<uint64_t, uint64_t> Store::range(int64_t first_index, int64_t last_index) const {
  if (first_index > last_index) return {0, 0};
  const size_t first = first_index < 0 ? 0 : blocks_up_to(first_index - 1);
  return {offset_of(first), offset_of(blocks_up_to(last_index))};
}

}  // namespace cdb::coin_log

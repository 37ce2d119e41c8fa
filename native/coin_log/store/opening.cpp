#include "coin_log/store/opening.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

// Before damage only the last rewind counts that it tells of, if it can be read.
Manifest manifest_at(const Directory &directory, const cdb_coin_log_options &options) {
  Manifest manifest(NameBits(options.name_bits, random_hash_key()));
  try {
    read_manifest(directory, &manifest);
  } catch (const Failure &) {
    if (options.before_damage == 0) throw;
  }
  if (options.before_damage != 0) manifest.uncover();
  return manifest;
}

void check(const cdb_coin_log_options &options) {
  const bool fine = options.memtable_coins > 0 && options.merge_runs >= 2 &&
                    options.name_bits >= 1 && options.name_bits <= 64 &&
                    options.recent_bits <= 24 && options.keys >= -1 && options.keys <= 1 &&
                    (options.before_damage == 0 || options.read_only != 0);
  if (!fine) throw Failure(CDB_INVALID, "", "an option is out of its range");
}

// `acked` first, so that no crash leaves a log without it.
void make_log_if_missing(const Directory &directory, Acked *acked) {
  if (exists(directory, kLogFile)) return;
  acked->mend();
  make_log(directory);
}

std::unique_ptr<Store> unread_store(const Directory &directory, const cdb_coin_log_options &options,
                                    Access &access, Readers &readers) {
  check(options);
  const Manifest manifest = manifest_at(directory, options);
  Acked acked(directory, options.read_only != 0);
  if (options.read_only == 0) make_log_if_missing(directory, &acked);
  return std::make_unique<Store>(directory, options, access, readers, std::move(acked), manifest);
}

}  // namespace

std::unique_ptr<Store> open_store(const Directory &directory, const cdb_coin_log_options &options,
                                  Access &access, Readers &readers) {
  Opening opening(directory, options, access, readers);
  uint64_t coins = 0;
  while (opening.replay(UINT64_MAX, &coins)) {
  }
  return opening.take_store();
}

Opening::Opening(const Directory &directory, const cdb_coin_log_options &options, Access &access,
                 Readers &readers)
    : options_(options),
      made_(unread_store(directory, options, access, readers)),
      store_(*made_),
      state_(store_.state_),
      acked_(store_.acked_),
      checkpoints_(store_.checkpoints_) {
  check_acked();
  if (!store_.is_read_only()) {
    make_directory(store_.directory(), kDerivedFolder);
    acked_.mend();
  }
  take_up_rewind();
  if (has_all_derived_files() && manifest().has_keys == state_.keys.are_on())
    load_derived();
  else
    forget_derived();
  if (!store_.is_read_only()) checkpoints_.remove_strays();
  begin_replay();
}

// It was there before the log was.
void Opening::check_acked() const {
  const bool is_forgiven = options_.forgiving != 0 || options_.before_damage != 0;
  if (acked_.is_lost() && !is_forgiven)
    throw corrupt(kAckedFile, acked_.is_missing() ? "it is missing" : "damaged");
}

// One of which the manifest does not know yet. If there were more, it is gone, or one of an earlier
// time: nobody knows what of the log that it covers is still the same.
void Opening::take_up_rewind() {
  state_.last_rewind = {manifest().epoch, manifest().rewound_to};
  if (acked_.epoch() <= manifest().epoch) return;
  const bool is_of_before = acked_.epoch() > manifest().epoch + 1;
  const LastRewind rewind = {acked_.epoch(), acked_.length(acked_.epoch())};
  state_.last_rewind = rewind;
  checkpoints_.take_up_rewind(rewind);
  if (is_of_before || manifest().covered_bytes > rewind.offset)
    checkpoints_.uncover(state_.keys.are_on());
  if (store_.is_read_only()) return;
  acked_.set(rewind.offset, rewind.epoch);
  acked_.sync();
  checkpoints_.write_manifest();
}

bool Opening::has_all_derived_files() const {
  const auto is_there = [this](const std::string &file) {
    return exists(store_.directory(), file);
  };
  if (manifest().history_bytes > 0 && !is_there(history_file(manifest().history))) return false;
  if (manifest().base.number != 0 && !is_there(base_file(manifest().base.number))) return false;
  return std::all_of(manifest().runs.begin(), manifest().runs.end(),
                     [&](const RunName &run) { return is_there(run_file(run.number)); });
}

// The files that are left must not be taken for those that are about to be made.
void Opening::forget_derived() {
  checkpoints_.uncover(state_.keys.are_on());
  if (!store_.is_read_only()) checkpoints_.write_manifest();
}

void Opening::load_derived() {
  check_last_covered();
  std::array<Runs, kIndexes> runs;
  for (const RunName &run : manifest().runs)
    runs[static_cast<size_t>(run.index)].push_back(
        std::make_shared<const Run>(store_.directory(), run));
  each_index(state_, [&](IndexOf index, auto &tables) {
    tables.adopt(std::move(runs[static_cast<size_t>(index)]));
  });
  state_.kinds.restore(manifest().kinds);
  state_.kinds.cut(manifest().covered_blocks);
  load_history(load_base());
  store_.validation_.parents.restore_rewards(manifest().rewards);
  state_.last_checksum = manifest().last_checksum;
  if (manifest().covered_blocks > 0) state_.log.set_end(manifest().covered_bytes);
}

void Opening::check_last_covered() const {
  if (manifest().covered_blocks == 0) return;
  const uint64_t offset = manifest().last_record;
  const uint64_t length = manifest().covered_bytes - offset;
  if (state_.log.file_bytes() < manifest().covered_bytes)
    throw corrupt(kLogFile, "it has " + std::to_string(state_.log.file_bytes()) + " bytes, and " +
                                std::to_string(manifest().covered_bytes) + " were acknowledged");
  if (!is_intact(state_.log.at(offset), length, state_.log.seed(offset)) ||
      read_header(state_.log.at(offset)).checksum != manifest().last_checksum)
    throw corrupt(kLogFile, "damaged").at(offset);
}

// Returns where the blocks behind it begin.
BlockPlace Opening::load_base() {
  if (manifest().base.number == 0) return {};
  BaseLists lists;
  const auto base = std::make_shared<const Base>(store_.directory(), manifest().base, &lists);
  if (base->blocks() > manifest().covered_blocks || base->end() > manifest().covered_bytes)
    throw corrupt_derived(base_file(manifest().base.number));
  state_.block_hints = std::move(lists.block_hints);
  state_.row_count = base->rows();
  state_.spend_count = base->spends();
  state_.spent.adopt(base);
  state_.blocks.adopt(base, {});
  add_early(lists.early_rows, base_file(manifest().base.number));
  return {base->end(), base->rows()};
}

// first: where its blocks begin.
void Opening::load_history(BlockPlace first) {
  const std::string file = history_file(manifest().history);
  std::vector<BlockLine> lines;
  std::vector<uint32_t> spent_rows, early_rows;
  const auto append = [](auto *to, const auto &from) {
    to->insert(to->end(), from.begin(), from.end());
  };
  const size_t n_based = state_.blocks.size();
  read_sections(store_.directory(), file, manifest().history_bytes, &first,
                [&](const SectionPlace &place, const Section &section) {
                  if (section.first_block != n_based + lines.size()) throw corrupt_derived(file);
                  append(&lines, section.blocks);
                  append(&spent_rows, section.spent_rows);
                  append(&early_rows, section.early_rows);
                  checkpoints_.add_section(place);
                });
  const bool is_empty = n_based + lines.size() == 0;
  if (checkpoints_.history_checksum() != manifest().history_checksum ||
      n_based + lines.size() != manifest().covered_blocks || first.row != manifest().covered_rows ||
      (is_empty ? 0 : first.offset) != manifest().covered_bytes)
    throw corrupt_derived(file);
  for (const BlockLine &line : lines) {
    const int64_t newest = state_.blocks.empty() ? -1 : int64_t{state_.newest_index()};
    if (line.index <= newest || !line.geometry.is_sound()) throw corrupt_derived(file);
    state_.add_line(line);
  }
  state_.spent.resize(manifest().covered_rows);
  if (!state_.enter_spends(n_based, spent_rows)) throw corrupt_derived(file);
  state_.checked_records.resize(state_.blocks.size());
  add_early(early_rows, file);
}

// file: that says so.
void Opening::add_early(const std::vector<uint32_t> &rows, const std::string &file) {
  for (const uint32_t early : rows) {
    if (early >= state_.spent.size()) throw corrupt_derived(file);
    CoinView view;
    state_.fetch(&early, 1, &view);
    store_.validation_.parents.add_early(early, Parents::head_of(view.parent));
  }
}

}  // namespace cdb::coin_log

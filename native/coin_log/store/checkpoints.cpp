#include "coin_log/store/checkpoints.h"

#include "common/beside.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace cdb::coin_log {

namespace {

constexpr size_t kWorthwhileDivisor = 16;  // of the memtable's coins: quickly replayed
// Behind a base there are so many blocks, or one in so many of a short chain.
constexpr size_t kMostBehindBase = 4096, kBehindBaseDivisor = 16;
// A base is written anew when so large a part of its coins came since, or was changed.
constexpr size_t kNewDivisor = 16, kChangedDivisor = 8;

template <typename T>
std::future_status status_of(const std::future<T> &future) {
  return future.wait_for(std::chrono::seconds(0));
}

// Of the early children with first_row ≤ row < end_row.
std::vector<uint32_t> early_rows_between(uint32_t first_row, uint32_t end_row,
                                         const Parents &parents) {
  const auto &early = parents.early_children();
  std::vector<uint32_t> rows;
  for (auto child = early.rbegin(); child != early.rend() && child->row >= first_row; ++child)
    if (child->row < end_row) rows.push_back(child->row);
  std::reverse(rows.begin(), rows.end());
  return rows;
}

// How many of so many blocks a base has.
size_t blocks_for_base(size_t blocks) {
  return blocks - std::min(kMostBehindBase, blocks / kBehindBaseDivisor);
}

BaseContent base_content(const State &state, size_t blocks, const Parents &parents) {
  const uint32_t rows = state.first_row_of(blocks), newest = state.blocks[blocks - 1].index;
  return {blocks,
          rows,
          state.spends_before(blocks),
          state.offset_of(blocks),
          early_rows_between(0, rows, parents),
          state.block_hints,
          [&state](size_t block) { return state.blocks[block]; },
          [&state, newest](uint32_t first, size_t n, uint32_t *indices) {
            for (size_t i = 0; i < n; ++i) {
              const uint32_t index = state.spent[first + i];
              indices[i] = index <= newest ? index : 0;
            }
          }};
}

}  // namespace

void Checkpoints::remove_strays() const {
  erase_behind_sections(directory_, history_file(manifest_.history), manifest_.history_bytes);
  const std::string folder = std::string(kDerivedFolder) + "/";
  std::set<std::string> wanted = {folder + ".", folder + "..", kManifestFile,
                                  history_file(manifest_.history)};
  if (manifest_.base.number != 0) wanted.insert(base_file(manifest_.base.number));
  for (const RunName &run : manifest_.runs) wanted.insert(run_file(run.number));
  for (const std::string &name : list_directory(directory_, kDerivedFolder))
    if (wanted.count(folder + name) == 0) remove_file(directory_, folder + name);
}

// Rows that were rewound are in the memtable still.
bool Checkpoints::is_due(const State &state) const {
  return state.row_count - manifest_.covered_rows >= options_.memtable_coins ||
         new_spent_rows_.size() >= size_t{2} * options_.memtable_coins ||
         state.index.tables().memtable.size() >= size_t{2} * options_.memtable_coins;
}

bool Checkpoints::is_worthwhile(const State &state) const {
  return state.row_count - manifest_.covered_rows > options_.memtable_coins / kWorthwhileDivisor ||
         is_base_due(state, /*is_last=*/true);
}

// By what it would take in. While more is to come it is due only where what has changed in the one
// so far takes memory: what is behind it would have to be written again.
bool Checkpoints::is_base_due(const State &state, bool is_last) const {
  const size_t blocks = blocks_for_base(state.blocks.size());
  if (blocks <= state.blocks.based()) return false;
  const size_t based = state.spent.based();
  const size_t least = options_.memtable_coins / (is_last ? kWorthwhileDivisor : 1);
  const size_t changes = std::max(least, based / kChangedDivisor);
  const uint64_t spends = state.spends_before(blocks) - state.blocks.based_spends();
  if (!is_last) return state.spent.changed() > changes && spends > changes;
  return state.first_row_of(blocks) - based > std::max(least, based / kNewDivisor) ||
         spends > changes;
}

// The rows behind it that sections have told are in the next one.
void Checkpoints::move_base(State &state, Access &access, const Parents &parents) {
  const size_t blocks = blocks_for_base(state.blocks.size());
  new_spent_rows_ = take_spent_rows(state, blocks);
  const auto base = write_base(state, blocks, parents);
  replaced_.push_back(history_file(manifest_.history));
  manifest_.history = manifest_.next_file++;
  manifest_.history_bytes = manifest_.history_checksum = 0;
  sections_.clear();
  const Change change(access);
  state.adopt(base, state.blocks.size(), new_spent_rows_);
}

// Some blocks before that one are left out, too, so that the next rewind need not do this again.
std::shared_ptr<const Base> Checkpoints::cut_base(const State &state, size_t block,
                                                  const Parents &parents) {
  const size_t blocks = blocks_for_base(block);
  new_spent_rows_ = state.spends_of(blocks, block);
  return write_base(state, blocks, parents);
}

// Of so many blocks, and the manifest in memory covers no more then; null: of none. What the base
// so far says is checked once more: the new one would have right checksums.
std::shared_ptr<const Base> Checkpoints::write_base(const State &state, size_t blocks,
                                                    const Parents &parents) {
  state.blocks.check_base();
  if (manifest_.base.number != 0) replaced_.push_back(base_file(manifest_.base.number));
  manifest_.base = {};
  cover(state, blocks);
  if (blocks == 0) return nullptr;
  manifest_.base =
      coin_log::write_base(directory_, manifest_.next_file++, base_content(state, blocks, parents));
  return std::make_shared<const Base>(directory_, manifest_.base);
}

// From here on the manifest in memory is the one that is being written. Nothing but a rewind would
// write another one, and a rewind waits.
void Checkpoints::start(State &state, Access &access, const Parents &parents, bool is_last) {
  finish(state, access);
  if (is_base_due(state, is_last)) move_base(state, access, parents);
  Section section = uncovered_section(state, parents);
  new_spent_rows_.clear();
  cover(state, state.blocks.size());
  manifest_.rewards = parents.rewards();
  manifest_.kinds = state.kinds.all();
  {
    const Change change(access);
    each_index(state, [](IndexOf, auto &tables) { tables.set_aside(); });
  }
  under_way_ = beside([this, manifest = manifest_, section = std::move(section), &state,
                       replaced = std::exchange(replaced_, {})] {
    return write(manifest, section, state, replaced);
  });
  if (status_of(under_way_) == std::future_status::deferred) finish(state, access);
}

void Checkpoints::finish(State &state, Access &access) {
  if (!under_way_.valid()) return;
  Written written = under_way_.get();
  manifest_ = std::move(written.manifest);
  sections_.push_back(written.section);
  std::vector<std::shared_ptr<void>> replaced;  // freed when readers are let in again
  const Change change(access);
  each_index(state, [&](IndexOf index, auto &tables) {
    auto old = tables.adopt(std::move(written.runs[static_cast<size_t>(index)]));
    replaced.push_back(std::make_shared<decltype(old)>(std::move(old)));
  });
}

void Checkpoints::finish_if_ready(State &state, Access &access) {
  if (under_way_.valid() && status_of(under_way_) == std::future_status::ready)
    finish(state, access);
}

// replaced: files of before.
Checkpoints::Written Checkpoints::write(Manifest manifest, const Section &section,
                                        const State &state,
                                        const std::vector<std::string> &replaced) const {
  std::array<Runs, kIndexes> runs;
  Runs replaced_runs;
  const Extent covered = {manifest.covered_rows, manifest.covered_blocks};
  manifest.runs.clear();
  each_index(state, [&](IndexOf index, const auto &tables) {
    Sealing sealing(directory_, index, tables.runs, covered.end(places_of(index)),
                    manifest.next_file);
    sealing.add(tables.sealing);
    sealing.merge(options_.merge_runs);
    manifest.next_file = sealing.next_number();
    runs[static_cast<size_t>(index)] = sealing.runs();
    for (const auto &run : sealing.runs()) manifest.runs.push_back(run->name());
    replaced_runs.insert(replaced_runs.end(), sealing.replaced().begin(), sealing.replaced().end());
  });
  const SectionPlace place = write_section(directory_, history_file(manifest.history), section,
                                           manifest.history_bytes, manifest.history_checksum);
  manifest.history_bytes += place.length;
  manifest.history_checksum = place.checksum;
  coin_log::write_manifest(directory_, manifest);
  for (const auto &run : replaced_runs) remove_file(directory_, run_file(run->name().number));
  for (const std::string &file : replaced) remove_file(directory_, file);
  return {std::move(manifest), std::move(runs), place};
}

Section Checkpoints::uncovered_section(const State &state, const Parents &parents) const {
  const uint32_t first_row = static_cast<uint32_t>(manifest_.covered_rows);
  return {manifest_.covered_blocks, state.blocks.from(manifest_.covered_blocks), new_spent_rows_,
          early_rows_between(first_row, state.row_count, parents)};
}

void Checkpoints::cover(const State &state, size_t blocks) {
  manifest_.covered_bytes = blocks == 0 ? 0 : state.offset_of(blocks);
  manifest_.last_record = blocks == 0 ? 0 : state.blocks[blocks - 1].offset;
  manifest_.last_checksum = state.checksum_before(blocks);
  manifest_.covered_blocks = blocks;
  manifest_.covered_rows = state.first_row_of(blocks);
}

std::vector<uint32_t> Checkpoints::take_spent_rows(const State &state, size_t block) {
  while (block < manifest_.covered_blocks && !sections_.empty()) uncover_section(state);
  size_t kept = 0;
  for (size_t each = manifest_.covered_blocks; each < block; ++each)
    kept += state.blocks[each].geometry.spends;
  const auto first = new_spent_rows_.begin() + static_cast<ptrdiff_t>(kept);
  std::vector<uint32_t> taken(first, new_spent_rows_.end());
  new_spent_rows_.erase(first, new_spent_rows_.end());
  return taken;
}

// The blocks of the last section are as those that came since the checkpoint: once the manifest
// says so, the next section takes its place.
void Checkpoints::uncover_section(const State &state) {
  const SectionPlace place = sections_.back();
  const std::vector<uint32_t> spent_rows =
      read_spent_rows(directory_, history_file(manifest_.history), place);
  new_spent_rows_.insert(new_spent_rows_.begin(), spent_rows.begin(), spent_rows.end());
  sections_.pop_back();
  manifest_.history_bytes = place.offset;
  manifest_.history_checksum = history_checksum();
  cover(state, place.first_block);
}

void Checkpoints::take_up_rewind(const LastRewind &rewind) {
  manifest_.epoch = rewind.epoch;
  manifest_.rewound_to = rewind.offset;
}

void Checkpoints::note_rewind(const LastRewind &rewind) {
  take_up_rewind(rewind);
  write_manifest();
  erase_behind_sections(directory_, history_file(manifest_.history), manifest_.history_bytes);
  for (const std::string &file : std::exchange(replaced_, {})) remove_file(directory_, file);
}

}  // namespace cdb::coin_log

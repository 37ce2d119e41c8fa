#include "coin_log/store/checkpoints.h"

#include "common/beside.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace cdb::coin_log {

namespace {

constexpr size_t kWorthwhileDivisor = 16;  // of the memtable's coins: quickly replayed

template <typename T>
std::future_status status_of(const std::future<T> &future) {
  return future.wait_for(std::chrono::seconds(0));
}

// Of the early children.
std::vector<uint32_t> early_rows_from(uint32_t first_row, const Parents &parents) {
  const auto &early = parents.early_children();
  std::vector<uint32_t> rows;
  for (auto child = early.rbegin(); child != early.rend() && child->row >= first_row; ++child)
    rows.push_back(child->row);
  std::reverse(rows.begin(), rows.end());
  return rows;
}

}  // namespace

void Checkpoints::remove_strays() const {
  erase_behind_sections(directory_, manifest_.history_bytes);
  std::set<std::string> wanted = {".", "..", "manifest", "history"};
  for (const RunName &run : manifest_.runs) wanted.insert(run_file(run.number).substr(8));
  for (const std::string &name : list_directory(directory_, kDerivedFolder))
    if (wanted.count(name) == 0) remove_file(directory_, std::string(kDerivedFolder) + "/" + name);
}

// Rows that were rewound are in the memtable still.
bool Checkpoints::is_due(const State &state) const {
  return state.row_count - manifest_.covered_rows >= options_.memtable_coins ||
         state.index.tables().memtable.size() >= size_t{2} * options_.memtable_coins;
}

bool Checkpoints::is_worthwhile(const State &state) const {
  return state.row_count - manifest_.covered_rows > options_.memtable_coins / kWorthwhileDivisor;
}

// From here on the manifest in memory is the one that is being written. Nothing but a rewind would
// write another one, and a rewind waits.
void Checkpoints::start(State &state, Access &access, const Parents &parents) {
  finish(state, access);
  Section section = uncovered_section(state, parents);
  new_spent_rows_.clear();
  cover(state, state.blocks.size());
  manifest_.rewards = parents.rewards();
  manifest_.kinds = state.kinds.all();
  {
    const Change change(access);
    each_index(state, [](IndexOf, auto &tables) { tables.set_aside(); });
  }
  under_way_ = beside([this, manifest = manifest_, section = std::move(section), &state] {
    return write(manifest, section, state);
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

Checkpoints::Written Checkpoints::write(Manifest manifest, const Section &section,
                                        const State &state) const {
  std::array<Runs, kIndexes> runs;
  Runs replaced;
  const Extent covered = {manifest.covered_rows, manifest.covered_blocks};
  manifest.runs.clear();
  each_index(state, [&](IndexOf index, const auto &tables) {
    Sealing sealing(directory_, index, tables.runs, covered.end(places_of(index)),
                    manifest.next_run);
    sealing.add(tables.sealing);
    sealing.merge(options_.merge_runs);
    manifest.next_run = sealing.next_number();
    runs[static_cast<size_t>(index)] = sealing.runs();
    for (const auto &run : sealing.runs()) manifest.runs.push_back(run->name());
    replaced.insert(replaced.end(), sealing.replaced().begin(), sealing.replaced().end());
  });
  const SectionPlace place =
      write_section(directory_, section, manifest.history_bytes, manifest.history_checksum);
  manifest.history_bytes += place.length;
  manifest.history_checksum = place.checksum;
  coin_log::write_manifest(directory_, manifest);
  for (const auto &run : replaced) remove_file(directory_, run_file(run->name().number));
  return {std::move(manifest), std::move(runs), place};
}

Section Checkpoints::uncovered_section(const State &state, const Parents &parents) const {
  const auto first = state.blocks.begin() + static_cast<ptrdiff_t>(manifest_.covered_blocks);
  const uint32_t first_row = static_cast<uint32_t>(manifest_.covered_rows);
  return {manifest_.covered_blocks,
          {first, state.blocks.end()},
          new_spent_rows_,
          early_rows_from(first_row, parents)};
}

void Checkpoints::cover(const State &state, size_t blocks) {
  manifest_.covered_bytes = blocks == 0 ? 0 : state.offset_of(blocks);
  manifest_.last_record = blocks == 0 ? 0 : state.blocks[blocks - 1].offset;
  manifest_.last_checksum = state.checksum_before(blocks);
  manifest_.covered_blocks = blocks;
  manifest_.covered_rows = state.first_row_of(blocks);
}

std::vector<uint32_t> Checkpoints::take_spent_rows(const State &state, size_t block) {
  while (block < manifest_.covered_blocks) uncover_section(state);
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
  const std::vector<uint32_t> spent_rows = read_spent_rows(directory_, place);
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
  erase_behind_sections(directory_, manifest_.history_bytes);
}

}  // namespace cdb::coin_log

#include "coin_log/store/inspection.h"

#include "coin_log/store/opening.h"

namespace cdb::coin_log {

namespace {

// As most databases have them; those that the manifest tells count.
cdb_coin_log_options options(bool before_damage) {
  cdb_coin_log_options options{};
  options.read_only = 1;
  options.memtable_coins = 1;
  options.merge_runs = 2;
  options.name_bits = 64;
  options.keys = -1;
  options.forgiving = 1;
  options.before_damage = before_damage ? 1 : 0;
  return options;
}

bool is_derived(const std::string &file) {
  return file.rfind(std::string(kDerivedFolder) + "/", 0) == 0;
}

// Calls body, and tells whether it has found damage.
template <typename Body, typename Found>
void with_damage(Body body, Found found) {
  try {
    body();
  } catch (const Failure &failure) {
    if (failure.status() != CDB_CORRUPT) throw;
    found(failure);
  }
}

// Of the last record that begins before an offset, by the records' own lengths; -1 without one.
int64_t newest_index_before(const Directory &directory, uint64_t offset) {
  if (offset <= kLogHeadBytes) return -1;  // where the head is damaged, there is no Log
  const Log log(directory, /*read_only=*/true);
  const uint64_t file_bytes = log.file_bytes();
  int64_t newest = -1;
  for (uint64_t at = kLogHeadBytes; at < offset && at + kHeaderBytes <= file_bytes;) {
    const RecordHeader header = read_header(log.at(at));
    if (!is_plausible(header)) break;
    newest = header.block_index;
    at += header.length;
  }
  return newest;
}

}  // namespace

void Inspection::look_on(uint64_t max_coins, cdb_coin_log_step *step) {
  *step = {};
  if (!is_begun_) {
    is_begun_ = true;
    look_at_acked();
    look_at_derived();
    with_damage([this] { open(); }, [this](const Failure &failure) { note_and_look_on(failure); });
  } else if (untold_.empty() && reader_ != nullptr) {
    with_damage([&] { read_on(max_coins, step); },
                [this](const Failure &failure) { note_and_look_on(failure); });
  }
  if (!untold_.empty()) {
    tell(untold_.front(), step);
    untold_.pop();
  }
  step->is_last = untold_.empty() && reader_ == nullptr ? 1 : 0;
}

void Inspection::look_at_acked() {
  const Acked acked(directory_, /*read_only=*/true);
  if (!acked.is_whole())
    note(corrupt(kAckedFile, acked.is_missing() ? "it is missing" : "damaged"));
}

// Opening makes up for files that are missing. Only what a crash could have cost is no damage.
void Inspection::look_at_derived() {
  Manifest manifest(NameBits(1, random_hash_key()));
  bool is_there = false;
  with_damage([&] { is_there = read_manifest(directory_, &manifest); },
              [this](const Failure &failure) { note(failure); });
  if (!is_there) return;
  BlockPlace next;
  if (manifest.base.number != 0)
    look_at_file(base_file(manifest.base.number), [&] {
      const Base base(directory_, manifest.base);
      next = {base.end(), base.rows()};
      base.check_all();
    });
  if (const std::string history = history_file(manifest.history); manifest.history_bytes > 0)
    look_at_file(history, [&] {
      read_sections(directory_, history, manifest.history_bytes, &next,
                    [](const SectionPlace &, const Section &) {});
    });
  for (const RunName &run : manifest.runs)
    look_at_file(run_file(run.number), [&] { Run(directory_, run).check_all(); });
}

void Inspection::look_at_file(const std::string &file, const std::function<void()> &read) {
  if (exists(directory_, file))
    with_damage(read, [this](const Failure &failure) { note(failure); });
  else
    note(corrupt(file, "it is missing"));
}

void Inspection::open() {
  store_ = open_store(directory_, options(/*before_damage=*/false), access_, readers_);
  reader_ =
      std::make_unique<Reader>(readers_, store_->state(), store_->state().range(0, INT64_MAX));
}

void Inspection::read_on(uint64_t max_coins, cdb_coin_log_step *step) {
  reader_->next(*store_, max_coins);
  const OwnedBlocks &blocks = reader_->blocks();
  step->coins = blocks.confirm_count();
  if (blocks.indices.empty()) reader_.reset();
}

void Inspection::look_at_log_alone() {
  const auto alone = open_store(directory_, options(/*before_damage=*/true), access_, readers_);
  if (alone->damage()) note(*alone->damage());
}

// One damage to a file is told.
void Inspection::note(const Failure &failure) {
  if (damaged_files_.insert(failure.file()).second) untold_.push(failure);
}

void Inspection::note_and_look_on(const Failure &failure) {
  reader_.reset();
  store_.reset();
  note(failure);
  if (is_derived(failure.file()))
    with_damage([this] { look_at_log_alone(); }, [this](const Failure &of_log) { note(of_log); });
}

void Inspection::tell(const Failure &failure, cdb_coin_log_step *step) const {
  step->is_damaged = 1;
  failure.tell(&step->damage);
  step->can_be_rebuilt = is_derived(failure.file()) || failure.file() == kAckedFile ? 1 : 0;
  step->newest_index = -1;
  if (failure.file() == kLogFile && failure.offset() >= 0)
    step->newest_index = newest_index_before(directory_, static_cast<uint64_t>(failure.offset()));
}

}  // namespace cdb::coin_log

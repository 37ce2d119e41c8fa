#include "coin_log/store/store.h"

#include "coin_log/store/reader.h"
#include "common/fault_points.h"

namespace cdb::coin_log {

namespace {

size_t n_runs(const State &state) {
  size_t n = 0;
  each_index(state, [&](IndexOf, const auto &tables) { n += tables.runs.size(); });
  return n;
}

Failure disturbed(const std::string &how) { return {CDB_REWOUND, "", how, "open it again"}; }

}  // namespace

Store::Store(const Directory &directory, const cdb_coin_log_options &options, Access &access,
             Readers &readers, Acked acked, const Manifest &manifest)
    : directory_(directory),
      options_(options),
      access_(access),
      readers_(readers),
      state_(directory, options.read_only != 0, manifest.bits,
             options.keys < 0 ? manifest.has_keys : options.keys != 0),
      acked_(std::move(acked)),
      validation_(options),
      checkpoints_(directory, options, manifest),
      epoch_on_opening_(manifest.epoch),
      epoch_(std::max(manifest.epoch, acked_.epoch())) {}

Store::~Store() = default;

cdb_coin_log_totals Store::totals() const {
  return {state_.blocks.size(),
          state_.row_count,
          state_.newest_index(),
          state_.log.end(),
          state_.keys.are_on() ? uint64_t{1} : uint64_t{0},
          n_runs(state_),
          state_.checked_records.count(),
          state_.index.probes() + state_.keys.probes() + state_.rule_probes};
}

void Store::check_not_rewound() const {
  if (!is_read_only() || options_.before_damage != 0) return;
  // `acked` may be another file by now. A rewind that takes any block takes the newest one, too.
  if (acked_.is_as_read() && state_.has_newest_record()) return;
  const uint32_t epoch = checkpoints_.manifest().epoch;
  Manifest now = checkpoints_.manifest();
  if (!read_manifest(directory_, &now) || now.epoch == epoch_on_opening_ || now.epoch == epoch)
    return;
  if (!state_.log.is_in_place()) return;  // it is another one's manifest
  if (CDB_FAULT("rewind-not-told-to-readers")) return;
  const std::string fate = directory_.fate();
  throw disturbed("the one who writes has rewound it" + (fate.empty() ? fate : ", and " + fate));
}

void Store::check_undisturbed(const Failure &failure) const {
  if (!is_read_only() || options_.before_damage != 0) return;
  if (failure.status() != CDB_CORRUPT && failure.status() != CDB_IO) return;
  if (!state_.log.is_in_place()) {
    const std::string fate = directory_.fate();
    throw disturbed(fate.empty() ? "its log was removed or replaced" : fate);
  }
  if (!state_.log.is_itself()) throw disturbed("its log was overwritten");
  check_not_rewound();
}

void Store::sync_log() {
  if (CDB_FAULT("acked-before-log")) acked_.set(state_.log.end(), epoch_);
  state_.log.sync();
  if (acked_.length(epoch_) < state_.log.end()) acked_.set(state_.log.end(), epoch_);
}

void Store::begin_flush() {
  end_flush();
  if (options_.power_durable == 0 || acked_.length(epoch_) >= state_.log.end()) return flush();
  flushing_ = state_.log.end();
  state_.log.begin_sync();
  begin_verifying();
}

void Store::end_flush() {
  if (flushing_ == 0) return;
  end_verifying();
  state_.log.finish_sync();
  if (acked_.length(epoch_) < flushing_) acked_.set(flushing_, epoch_);
  flushing_ = 0;
}

void Store::flush() {
  end_flush();
  verify();
  if (options_.power_durable != 0 && acked_.length(epoch_) < state_.log.end()) return sync_log();
  state_.log.drain();
}

void Store::checkpoint_if_due() {
  if (is_read_only()) return;
  if (checkpoints_.is_due(state_))
    checkpoint();
  else
    checkpoints_.finish_if_ready(state_, access_);
}

// The log is synced here and not in the background: an error of a sync is told once, and the one
// who is told must be the one who acknowledges.
void Store::checkpoint() {
  verify();
  sync_log();
  checkpoints_.start(state_, access_, validation_.parents, /*is_last=*/false);
}

void Store::close() {
  if (is_read_only()) return;
  verify();
  sync_log();
  acked_.sync();
  if (checkpoints_.is_worthwhile(state_))
    checkpoints_.start(state_, access_, validation_.parents, /*is_last=*/true);
  checkpoints_.finish(state_, access_);
}

}  // namespace cdb::coin_log

#include "coin_log/store/manifest.h"

#include "common/checksum.h"
#include "coin_log/format/failure.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {
constexpr size_t kManifestBytes = 216, kRunBytes = 24, kKindBytes = 20;
constexpr uint32_t kManifestMagic = 0x354d4c43;  // "CLM5"
constexpr uint64_t kMostBytes = uint64_t{16} << 20;

using Prefix = std::array<uint8_t, 16>;

const uint8_t *read_kind(const uint8_t *from, Prefix *prefix, uint32_t *number) {
  std::memcpy(prefix->data(), from, 16);
  *number = load<uint32_t>(from + 16);
  return from + kKindBytes;
}

uint8_t *write_kind(const Prefix &prefix, uint32_t number, uint8_t *to) {
  std::memcpy(to, prefix.data(), 16);
  store(to + 16, number);
  return to + kKindBytes;
}

}  // namespace

void Manifest::uncover() {
  covered_bytes = last_record = last_checksum = covered_blocks = covered_rows = history_bytes = 0;
  history_checksum = 0;
  base = {};
  runs.clear();
  rewards.clear();
  kinds.clear();
}

bool Manifest::is_sound() const {
  return bits.are_sound() && last_record <= covered_bytes && covered_rows <= UINT32_MAX &&
         kinds.size() <= RewardKinds::kMost &&
         std::all_of(runs.begin(), runs.end(), [this](const RunName &run) {
           const bool is_of_keys = run.index != IndexOf::kNames;
           return run.number < next_file && static_cast<size_t>(run.index) < kIndexes &&
                  (has_keys || !is_of_keys);
         });
}

bool read_manifest(const Directory &directory, Manifest *manifest) {
  if (!exists(directory, kManifestFile)) return false;
  const Bytes bytes = read_whole(directory, kManifestFile, kMostBytes);
  const uint8_t *const from = bytes.data();
  if (bytes.size() < kManifestBytes || load<uint32_t>(from + 8) != kManifestMagic ||
      load<uint64_t>(from) != checksum(from + 8, bytes.size() - 8, 0) ||
      bytes.size() !=
          kManifestBytes + kRunBytes * uint64_t{load<uint32_t>(from + 176)} +
              kKindBytes * (uint64_t{load<uint32_t>(from + 180)} + load<uint16_t>(from + 92)) ||
      load<uint16_t>(from + 94) > 1)
    throw corrupt_derived(kManifestFile);
  manifest->epoch = load<uint32_t>(from + 12);
  manifest->rewound_to = load<uint64_t>(from + 16);
  manifest->covered_bytes = load<uint64_t>(from + 24);
  manifest->last_record = load<uint64_t>(from + 32);
  manifest->last_checksum = load<uint64_t>(from + 40);
  manifest->covered_blocks = load<uint64_t>(from + 48);
  manifest->covered_rows = load<uint64_t>(from + 56);
  manifest->history_bytes = load<uint64_t>(from + 64);
  manifest->history_checksum = load<uint64_t>(from + 72);
  manifest->next_file = load<uint64_t>(from + 80);
  HashKey secret;
  std::memcpy(secret.data(), from + 96, sizeof secret);
  manifest->bits = {load<uint32_t>(from + 88), secret};
  manifest->has_keys = load<uint16_t>(from + 94) != 0;
  manifest->base = {load<uint64_t>(from + 184), load<uint64_t>(from + 192),
                    load<uint64_t>(from + 200)};
  manifest->history = load<uint64_t>(from + 208);
  const uint8_t *next = from + kManifestBytes;
  manifest->runs.resize(load<uint32_t>(from + 176));
  for (RunName &run : manifest->runs) {
    run = {load<uint64_t>(next), load<uint32_t>(next + 8),
           static_cast<IndexOf>(load<uint32_t>(next + 12)), load<uint64_t>(next + 16)};
    next += kRunBytes;
  }
  manifest->rewards.resize(load<uint32_t>(from + 180));
  for (RewardParents::Highest &each : manifest->rewards)
    next = read_kind(next, &each.kind, &each.height);
  manifest->kinds.resize(load<uint16_t>(from + 92));
  for (RewardKinds::Kind &each : manifest->kinds) next = read_kind(next, &each.prefix, &each.block);
  if (!manifest->is_sound()) throw corrupt_derived(kManifestFile);
  return true;
}

void write_manifest(const Directory &directory, const Manifest &manifest) {
  Bytes bytes(kManifestBytes + kRunBytes * manifest.runs.size() +
              kKindBytes * (manifest.rewards.size() + manifest.kinds.size()));
  uint8_t *const to = bytes.data();
  store(to + 8, kManifestMagic);
  store(to + 12, manifest.epoch);
  store(to + 16, manifest.rewound_to);
  store(to + 24, manifest.covered_bytes);
  store(to + 32, manifest.last_record);
  store(to + 40, manifest.last_checksum);
  store(to + 48, manifest.covered_blocks);
  store(to + 56, manifest.covered_rows);
  store(to + 64, manifest.history_bytes);
  store(to + 72, manifest.history_checksum);
  store(to + 80, manifest.next_file);
  store(to + 88, manifest.bits.name_bits());
  store(to + 92, static_cast<uint16_t>(manifest.kinds.size()));
  store(to + 94, static_cast<uint16_t>(manifest.has_keys ? 1 : 0));
  std::memcpy(to + 96, manifest.bits.secret().data(), sizeof(HashKey));
  store(to + 176, static_cast<uint32_t>(manifest.runs.size()));
  store(to + 180, static_cast<uint32_t>(manifest.rewards.size()));
  store(to + 184, manifest.base.number);
  store(to + 192, manifest.base.checksum);
  store(to + 200, manifest.base.head_bytes);
  store(to + 208, manifest.history);
  uint8_t *next = to + kManifestBytes;
  for (const RunName &run : manifest.runs) {
    store(next, run.number);
    store(next + 8, run.entries);
    store(next + 12, static_cast<uint32_t>(run.index));
    store(next + 16, run.checksum);
    next += kRunBytes;
  }
  for (const RewardParents::Highest &each : manifest.rewards)
    next = write_kind(each.kind, each.height, next);
  for (const RewardKinds::Kind &each : manifest.kinds)
    next = write_kind(each.prefix, each.block, next);
  store(to, checksum(to + 8, bytes.size() - 8, 0));
  replace_whole(directory, kDerivedFolder, "manifest", bytes);
}

}  // namespace cdb::coin_log

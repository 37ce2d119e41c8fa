#include "manifest.h"

#include "checksum.h"
#include "failure.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {
constexpr size_t kManifestBytes = 184, kRunBytes = 24, kKindBytes = 20;
constexpr uint32_t kManifestMagic = 0x334d4c43;                 // "CLM3"
constexpr uint32_t kFormerMagics[] = {0x314d4c43, 0x324d4c43};  // "CLM1", "CLM2"
}  // namespace

void Manifest::uncover() {
  covered_bytes = last_record = last_checksum = covered_blocks = covered_rows = history_bytes = 0;
  history_checksum = 0;
  runs.clear();
  rewards.clear();
}

bool Manifest::is_sound() const {
  return bits.are_sound() && last_record <= covered_bytes && covered_rows <= UINT32_MAX &&
         std::all_of(runs.begin(), runs.end(),
                     [this](const RunName &run) { return run.number < next_run; });
}

bool read_manifest(const Directory &directory, Manifest *manifest) {
  if (!exists(directory, kManifestFile)) return false;
  const Bytes bytes = read_whole(directory, kManifestFile);
  const uint8_t *const from = bytes.data();
  for (const uint32_t former : kFormerMagics)
    if (bytes.size() >= 12 && load<uint32_t>(from + 8) == former) return false;
  if (bytes.size() < kManifestBytes || load<uint32_t>(from + 8) != kManifestMagic ||
      load<uint64_t>(from) != checksum(from + 8, bytes.size() - 8, 0) ||
      bytes.size() != kManifestBytes + kRunBytes * uint64_t{load<uint32_t>(from + 176)} +
                          kKindBytes * uint64_t{load<uint32_t>(from + 180)})
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
  manifest->next_run = load<uint64_t>(from + 80);
  HashKey secret;
  std::memcpy(secret.data(), from + 96, sizeof secret);
  manifest->bits = {load<uint32_t>(from + 88), load<uint32_t>(from + 92), secret};
  const uint8_t *const runs = from + kManifestBytes;
  const uint8_t *const kinds = runs + kRunBytes * load<uint32_t>(from + 176);
  manifest->runs.clear();
  for (const uint8_t *run = runs; run < kinds; run += kRunBytes)
    manifest->runs.push_back(
        {load<uint64_t>(run), load<uint64_t>(run + 8), load<uint64_t>(run + 16)});
  manifest->rewards.clear();
  for (const uint8_t *kind = kinds; kind < from + bytes.size(); kind += kKindBytes) {
    manifest->rewards.push_back({{}, load<uint32_t>(kind + 16)});
    std::memcpy(manifest->rewards.back().kind.data(), kind, 16);
  }
  if (!manifest->is_sound()) throw corrupt_derived(kManifestFile);
  return true;
}

void write_manifest(const Directory &directory, const Manifest &manifest) {
  Bytes bytes(kManifestBytes + kRunBytes * manifest.runs.size() +
              kKindBytes * manifest.rewards.size());
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
  store(to + 80, manifest.next_run);
  store(to + 88, manifest.bits.bucket_bits());
  store(to + 92, manifest.bits.name_bits());
  std::memcpy(to + 96, manifest.bits.secret().data(), sizeof(HashKey));
  store(to + 176, static_cast<uint32_t>(manifest.runs.size()));
  store(to + 180, static_cast<uint32_t>(manifest.rewards.size()));
  uint8_t *next = to + kManifestBytes;
  for (const RunName &run : manifest.runs) {
    store(next, run.number);
    store(next + 8, run.entries);
    store(next + 16, run.checksum);
    next += kRunBytes;
  }
  for (const RewardParents::Highest &each : manifest.rewards) {
    std::memcpy(next, each.kind.data(), 16);
    store(next + 16, each.height);
    next += kKindBytes;
  }
  store(to, checksum(to + 8, bytes.size() - 8, 0));
  replace_whole(directory, kDerivedFolder, "manifest", bytes);
}

}  // namespace cdb::coin_log

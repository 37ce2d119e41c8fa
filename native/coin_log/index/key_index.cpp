#include "coin_log/index/key_index.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

constexpr size_t kGroup = Run::kGroup;  // keys whose memory is fetched at the same time

// Each thread waits for its own reads.
thread_local ColdReads cold_reads;

}  // namespace

void KeyIndex::insert(const uint8_t *keys, size_t stride, size_t n, uint32_t first_place) {
  tables_.reserve(n);
  tables_.memtable.insert_all(bits_, keys, stride, n, first_place);
}

void KeyIndex::find_all(const uint8_t *keys, size_t n, uint32_t first, uint32_t end,
                        std::vector<Candidate> *candidates) const {
  uint64_t probes = 0;
  for (size_t done = 0; done < n; done += kGroup)
    find_group(keys + done * kNameBytes, std::min(kGroup, n - done), first, end, candidates,
               &probes);
  probes_ += probes;
}

void KeyIndex::find_group(const uint8_t *keys, size_t n, uint32_t first, uint32_t end,
                          std::vector<Candidate> *candidates, uint64_t *probes) const {
  uint64_t bits[kGroup];
  for (size_t i = 0; i < n; ++i)
    tables_.memtable.prefetch_head(bits[i] = bits_.of(keys + i * kNameBytes));
  prefetch_in(tables_.runs, bits, n, &cold_reads);
  std::vector<uint32_t> places;
  for (size_t i = 0; i < n; ++i) {
    places.clear();
    for (const auto &run : tables_.runs) run->find_between(bits[i], first, end, &places, probes);
    tables_.sealing.find_between(bits[i], first, end, &places, probes);
    tables_.memtable.find_between(bits[i], first, end, &places, probes);
    for (const uint32_t place : places) candidates->push_back({place, keys + i * kNameBytes});
  }
}

}  // namespace cdb::coin_log

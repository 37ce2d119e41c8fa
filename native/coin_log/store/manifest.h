// The manifest: which derived files there are and how much of the log they cover; and the last
// rewind, by which those who only read notice it. It is replaced in one durable step.
//
//     offset  bytes  content, little endian
//     0       8      checksum of all that follows
//     8       4      magic "CLM5"
//     12      4      epoch: how many rewinds there have been
//     16      8      offset that the last rewind went back to: records there need this epoch
//     24      8      covered length of the log
//     32      8      offset of the last covered record
//     40      8      its checksum; 0 while nothing is covered
//     48      8      covered blocks
//     56      8      covered rows
//     64      8      bytes of the history file that count
//     72      8      checksum of the history's last section; 0 without one
//     80      8      number of the next file
//     88      4      name bits
//     92      2      count of kinds of rewards, as records number them
//     94      2      1 if there are secondary keys (key_index.h); else 0
//     96      80     the secret that keys the bits of names
//     176     4      count of runs
//     180     4      count of kinds of rewards, with the highest height of each
//     184     8      number of the base; 0 without one
//     192     8      its checksum
//     200     8      bytes of its head
//     208     8      number of the history file
//     216     24·n   runs, of each index the oldest first: number (8), entries (4), index (4),
//                    checksum (8)
//     … + 24n 20·k   highest rewards: first 16 bytes of the parent, height (4)
//     … + 20k 20·m   kinds, in order: first 16 bytes of the parent, number of its first block (4)
//
// So a file that it names is just the one that was there when it was written, and none of before.
#pragma once

#include "rules/reward_parents.h"
#include "coin_log/format/base.h"
#include "coin_log/format/reward_kinds.h"
#include "coin_log/index/run.h"

namespace cdb::coin_log {

constexpr const char *kManifestFile = "derived/manifest";

struct Manifest {
  uint32_t epoch = 0;
  uint64_t rewound_to = 0;
  uint64_t covered_bytes = 0, last_record = 0, last_checksum = 0;
  uint64_t covered_blocks = 0, covered_rows = 0;
  uint64_t history_bytes = 0, history_checksum = 0;
  uint64_t next_file = 1;
  BaseName base;
  uint64_t history = 0;  // number of its file
  NameBits bits;
  bool has_keys = false;
  std::vector<RunName> runs;
  std::vector<RewardParents::Highest> rewards;
  std::vector<RewardKinds::Kind> kinds;

  explicit Manifest(const NameBits &name_bits) : bits(name_bits) {}
  // Cover nothing; epoch and rewind stay, and whether there are secondary keys.
  void uncover();
  bool is_sound() const;
};

// Leaves the manifest as it is, and returns false, where there is none.
bool read_manifest(const Directory &directory, Manifest *manifest);
void write_manifest(const Directory &directory, const Manifest &manifest);

}  // namespace cdb::coin_log

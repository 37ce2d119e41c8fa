#include "block_log.h"

#include <algorithm>
#include <utility>

namespace cdb::coin_set {

namespace {

constexpr size_t kHeadBytes = 16;
constexpr size_t kPageRows = 1024;
constexpr size_t kPageBytes = 64u << 10;
constexpr size_t kBytesOfOne = 4u << 10;
constexpr size_t kPartsAtOnce = 1024;  // their coins are copied while they are near

Failure damage(const char *what) { return {CDB_CORRUPT, "", what}; }

// Behind all rows of blocks up to this one; nothing where there can be no more.
Bytes end_behind(int64_t last) {
  if (last >= int64_t{UINT32_MAX}) return {};
  const BlockKey key = block_key(static_cast<uint64_t>(last + 1), 0);
  return {key.begin(), key.end()};
}

// Where a coin's confirm begins in its part.
uint32_t confirm_at(const Place &place) {
  return place.position % uint32_t{kPartCoins} * uint32_t{kConfirmBytes};
}

// Of the block whose row comes next; -1: there is none.
int64_t index_of_next(Scan &&rows) {
  if (!rows.read(1)) return -1;
  if (rows.key(0).n != kBlockKeyBytes) throw damage("a block's key is cut");
  return load_big_endian<uint32_t>(rows.key(0).bytes);
}

// Parts of blocks, of which coins are wanted: each from the first of these to the last one.
class WantedParts {
 public:
  // Of sorted places, as many as there is room for; gives the next place.
  const Place *ask_for(const Place *place, const Place *end) {
    while (place != end && wanted_.size() < kPartsAtOnce) place = ask_for_part(place, end);
    places_.push_back(place);
    return place;
  }

  void read(const Source &source, uint8_t space, okv_reuse reuse, cdb_coin_info *infos) {
    confirms_.resize(n_bytes_);
    uint8_t *to = confirms_.data();
    for (size_t i = 0; i < wanted_.size(); ++i) {
      okv_wanted &part = wanted_[i];
      part.to = is_one(i) ? infos[places_[i]->tag].parent : std::exchange(to, to + part.most);
    }
    source.get_many(space, keys_, &wanted_, reuse);
    for (size_t i = 0; i < wanted_.size(); ++i) {
      if (wanted_[i].length == OKV_ABSENT) throw damage("a coin's block is missing");
      for (const Place *one = places_[i]; one != places_[i + 1]; ++one) {
        if (confirm_at(*one) + kConfirmBytes > wanted_[i].length) throw damage("a block is cut");
        if (is_one(i))
          take_confirm(&infos[one->tag]);
        else
          copy_confirm(wanted_[i].to + confirm_at(*one) - wanted_[i].from, &infos[one->tag]);
      }
    }
  }

 private:
  // Nearly all are: their bytes go straight to where they are wanted.
  bool is_one(size_t part) const { return places_[part + 1] - places_[part] == 1; }

  const Place *ask_for_part(const Place *place, const Place *end) {
    const Place &first = *place;
    const uint32_t part = first.position / kPartCoins;
    while (place != end && place->index == first.index && place->position / kPartCoins == part)
      ++place;
    const uint32_t n_coins = place[-1].position - first.position + 1;
    keys_.add(block_key(first.index, 1 + part));
    wanted_.push_back({confirm_at(first), n_coins * uint32_t{kConfirmBytes}, nullptr, 0});
    places_.push_back(&first);
    if (place - &first > 1) n_bytes_ += wanted_.back().most;
    return place;
  }

  Items keys_;
  std::vector<okv_wanted> wanted_;
  std::vector<const Place *> places_;  // the first one in each part; then the one behind them all
  size_t n_bytes_ = 0;                 // of parts of which several coins are wanted
  Bytes confirms_;
};

}  // namespace

void read_coins(const Source &source, uint8_t space, std::vector<Place> places, okv_reuse reuse,
                cdb_coin_info *infos) {
  std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) {
    return a.index != b.index ? a.index < b.index : a.position < b.position;
  });
  const Place *const end = places.data() + places.size();
  for (const Place *next = places.data(); next != end;) {
    WantedParts parts;
    next = parts.ask_for(next, end);
    parts.read(source, space, reuse, infos);
  }
}

Span block_head(const cdb_set_block &block, Bytes *buffer) {
  buffer->resize(kHeadBytes + block.n_spends * kNameBytes);
  store_big_endian(buffer->data(), block.timestamp);
  store_big_endian(buffer->data() + 8, uint64_t{block.n_spends} << 32 | block.n_confirms);
  std::copy_n(block.spends, block.n_spends * kNameBytes, buffer->data() + kHeadBytes);
  return *buffer;
}

int64_t newest_block(const Source &source, uint8_t space, int64_t limit) {
  if (limit < 0) return -1;
  return index_of_next(
      Scan(source, space, {}, end_behind(limit), /*is_reverse=*/true, OKV_OFTEN, kBytesOfOne));
}

int64_t first_block(const Source &source, uint8_t space, uint64_t from, int64_t limit) {
  if (limit < 0 || from > static_cast<uint64_t>(limit)) return -1;
  return index_of_next(Scan(source, space, block_key(from, 0), end_behind(limit),
                            /*is_reverse=*/false, OKV_OFTEN, kBytesOfOne));
}

BlockCursor::BlockCursor(const Source &source, uint8_t space, uint32_t first, uint32_t last)
    : is_of_one_(first == last),
      rows_(source, space, block_key(first, 0), end_behind(last), /*is_reverse=*/false, OKV_ONCE,
            is_of_one_ ? kBytesOfOne : kPageBytes) {}

bool BlockCursor::next(cdb_set_block *block) {
  if (!has(1)) return false;
  read_head(block);
  read_parts(block);
  next_ += 1 + parts_of(block->n_confirms);
  return true;
}

// Whether there are n rows from next_ on in memory, or can be. Of one block alone no row behind it
// is asked for, whose damage would be none of it.
bool BlockCursor::has(size_t n) {
  while (rows_.n() - next_ < n) {
    rows_.drop(std::exchange(next_, 0));
    if (!rows_.read(is_of_one_ ? n : std::max(n, kPageRows))) return false;
  }
  return true;
}

void BlockCursor::read_head(cdb_set_block *block) const {
  const Span key = rows_.key(next_), value = rows_.value(next_);
  if (key.n != kBlockKeyBytes) throw damage("a block's key is cut");
  if (load_big_endian<uint32_t>(key.bytes + 4) != 0) throw damage("a block has no head");
  if (value.n < kHeadBytes) throw damage("a block's head is cut");
  block->index = load_big_endian<uint32_t>(key.bytes);
  block->timestamp = load_big_endian(value.bytes);
  block->n_spends = load_big_endian<uint32_t>(value.bytes + 8);
  block->n_confirms = load_big_endian<uint32_t>(value.bytes + 12);
  if (value.n != kHeadBytes + block->n_spends * kNameBytes)
    throw damage("a block's spends are cut");
}

// Values lie behind each other in memory, and so do the confirms of all parts.
void BlockCursor::read_parts(cdb_set_block *block) {
  size_t n_bytes = 0;
  for (size_t part = 1; part <= parts_of(block->n_confirms); ++part) {
    if (!has(1 + part) || !(rows_.key(next_ + part) == block_key(block->index, part)))
      throw damage("a part of a block is missing");
    n_bytes += rows_.value(next_ + part).n;
  }
  if (n_bytes != block->n_confirms * kConfirmBytes) throw damage("a block's confirms are cut");
  block->spends = rows_.value(next_).bytes + kHeadBytes;
  block->confirms = block->spends + block->n_spends * kNameBytes;
}

}  // namespace cdb::coin_set

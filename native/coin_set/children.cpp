#include "children.h"

namespace cdb::coin_set {

namespace {

constexpr size_t kHeadBytes = 16;

Failure damage(const char *what) { return {CDB_CORRUPT, "", what}; }

// For the first of a block's confirms whose parent does not come before a family's, or, at its end,
// comes behind it. It lies within low … high.
struct Search {
  const Family *of;
  bool is_for_end;
  uint32_t low;
  uint32_t high;

  uint32_t middle() const { return low + (high - low) / 2; }
  void go_on(const uint8_t *parent_in_middle) {
    if (compare_names(parent_in_middle, of->parent) < (is_for_end ? 1 : 0))
      low = middle() + 1;
    else
      high = middle();
  }
};

// All that are not done go one step further; false: they are all done. Those of one block halve the
// same ranges, so that what they look at ascends as they do.
bool go_on(const Source &source, uint8_t space, std::vector<Search> *searches) {
  Items keys;
  std::vector<okv_wanted> wanted;
  std::vector<Search *> active;
  Bytes parents(searches->size() * kNameBytes);
  for (Search &search : *searches) {
    if (search.low == search.high) continue;
    const uint32_t position = search.middle();
    keys.add(block_key(search.of->index, 1 + position / kPartCoins));
    wanted.push_back({position % uint32_t{kPartCoins} * uint32_t{kConfirmBytes}, kNameBytes,
                      parents.data() + active.size() * kNameBytes, 0});
    active.push_back(&search);
  }
  source.get_many(space, keys, &wanted, OKV_OFTEN);
  for (size_t i = 0; i < active.size(); ++i) {
    if (wanted[i].length == OKV_ABSENT) throw damage("a part of a block is missing");
    if (wanted[i].length < wanted[i].from + kNameBytes) throw damage("a block is cut");
    active[i]->go_on(wanted[i].to);
  }
  return !active.empty();
}

}  // namespace

std::vector<Head> read_heads(const Source &source, uint8_t space,
                             const std::vector<uint32_t> &indices) {
  Items keys;
  Bytes bytes(indices.size() * kHeadBytes);
  std::vector<okv_wanted> wanted(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    keys.add(block_key(indices[i], 0));
    wanted[i] = {0, kHeadBytes, bytes.data() + i * kHeadBytes, 0};
  }
  source.get_many(space, keys, &wanted, OKV_OFTEN);
  std::vector<Head> heads(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    if (wanted[i].length == OKV_ABSENT) throw damage("a coin's block is missing");
    if (wanted[i].length < kHeadBytes) throw damage("a block's head is cut");
    heads[i] = {load_big_endian(wanted[i].to), load_big_endian<uint32_t>(wanted[i].to + 12)};
  }
  return heads;
}

void find_children_in(const cdb_set_block &block, Family *family) {
  for (const bool is_for_end : {false, true}) {
    Search search{family, is_for_end, 0, static_cast<uint32_t>(block.n_confirms)};
    while (search.low < search.high)
      search.go_on(block.confirms + size_t{search.middle()} * kConfirmBytes);
    (is_for_end ? family->end : family->begin) = search.low;
  }
}

void find_children(const Source &source, uint8_t space, std::vector<Family> *families) {
  std::vector<uint32_t> indices;
  for (const Family &family : *families)
    if (indices.empty() || indices.back() != family.index) indices.push_back(family.index);
  const std::vector<Head> heads = read_heads(source, space, indices);
  std::vector<Search> searches;
  size_t block = 0;
  for (const Family &family : *families) {
    while (indices[block] != family.index) ++block;
    for (const bool is_for_end : {false, true})
      searches.push_back({&family, is_for_end, 0, heads[block].n_confirms});
  }
  while (go_on(source, space, &searches)) continue;
  for (size_t i = 0; i < families->size(); ++i) {
    (*families)[i].begin = searches[2 * i].low;
    (*families)[i].end = searches[2 * i + 1].low;
  }
}

}  // namespace cdb::coin_set

// What the coin set asks of a layout: how coins and their spends stand in two spaces of an engine.
//
// A layout is one file here, and one line in table.h. It has no state but its options. What it says
// of coins is as of a block: whatever a commit or a rewind has half done is above that one, and
// does not count. (-1: as of no block; nothing counts.)
#pragma once

#include "ordered_kv/ordered_kv.h"
#include "layouts/pending_coin.h"
#include "layouts/spaces.h"
#include "layouts/with_confirms.h"
#include "common/packed_blocks.h"

#include <memory>
#include <vector>

namespace cdb::layouts {

using coin_set::Batch;
using coin_set::Items;
using coin_set::kFirst;
using coin_set::kSecond;
using coin_set::LayoutSpaces;
using coin_set::PendingCoin;
using coin_set::Run;
using coin_set::Scan;
using coin_set::Source;
using coin_set::Space;
using coin_set::Span;
using coin_set::WithConfirms;

using Coins = WithConfirms<PendingCoin>;

// A name that is looked up, and what the asker calls it.
struct Asked {
  const uint8_t *name;
  size_t tag;
};

// A coin as of a block.
struct CoinState {
  uint32_t at;  // which of those that were asked for
  uint32_t confirmed_index;
  uint32_t position;     // among the confirms of its block
  uint32_t spent_index;  // 0: unspent
};

struct NamedCoin {
  std::array<uint8_t, kNameBytes> name;
  uint32_t confirmed_index;
  uint32_t position;
  uint32_t spent_index;
};

// is_newest: nothing that counts is above the block.
struct AsOf {
  int64_t index;
  bool is_newest;
};

using Found = WithConfirms<CoinState>;
using Scanned = WithConfirms<NamedCoin>;

inline Failure damage(const char *what) { return {CDB_CORRUPT, "", what}; }

// Coins, each at most once a block.
class CoinScan {
 public:
  virtual ~CoinScan() = default;
  // Goes over `most` rows, each of one coin at most, and appends those that are there; or to the
  // end: false.
  virtual bool next(size_t most, Scanned *coins) = 0;
};

class Layout {
 public:
  virtual ~Layout() = default;

  // Its two spaces. Their names tell them from those of other layouts and options.
  virtual LayoutSpaces spaces() const = 0;

  // Whether it keeps confirms with the places of coins. What is written needs them then, and what
  // tells a place gives them: no block has to be read for what a coin is.
  virtual bool is_inline() const = 0;

  // Appends what counts as of a block of these coins, in their order. The names must be sorted.
  virtual void find(const Source &source, const std::vector<Asked> &sorted, const AsOf &as_of,
                    okv_reuse reuse, Found *found) const = 0;

  // Puts what one of the two spaces gets of coins that are confirmed, or spent, or both.
  virtual void put(Space space, const Coins &coins, Batch *to) const = 0;
  virtual void put(Space space, const Coins &coins, Run *to) const = 0;

  // Undoes all that blocks above `kept` have written, in the order of spaces and keys. Others above
  // it may be undone before or after. A crash can come in between, and it is done again.
  virtual void undo(const Source &source, const Blocks &blocks, int64_t kept, Batch *to) const = 0;

  // Whether undoing reads the newest rows of coins that blocks spend.
  virtual bool reads_to_undo() const = 0;

  // All coins as of a block, by name.
  virtual std::unique_ptr<CoinScan> scan(const Source &source, int64_t as_of) const = 0;

  // The versions of the blocks first … last, by block and name; null where it has none in that
  // order, and they are made from the blocks.
  virtual std::unique_ptr<CoinScan> log(const Source &, int64_t /*first*/, int64_t /*last*/) const {
    return nullptr;
  }
};

// For layouts with put_rows(space, coins, put), which calls put(key, value) in the order of keys.
template <typename Rows>
class LayoutOf : public Layout {
 public:
  void put(Space space, const Coins &coins, Batch *to) const final {
    rows().put_rows(space, coins, coin_set::into(to, space));
  }
  void put(Space space, const Coins &coins, Run *to) const final {
    rows().put_rows(space, coins, coin_set::into(to));
  }

 private:
  const Rows &rows() const { return static_cast<const Rows &>(*this); }
};

}  // namespace cdb::layouts

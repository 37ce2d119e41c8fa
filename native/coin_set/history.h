// Coins as they were: all of them as of a block, or what each block of a range has made of them.
//
// Each is of one moment: the engine's of then, and, in front of it, what was in memory then. That
// only grows, also by blocks that are being examined, and nothing of it counts but what blocks up
// to the moment's newest one have done.
#pragma once

#include "cursor.h"
#include "store.h"

#include <optional>

namespace cdb::coin_set {

// What there is at one moment, while it is held.
class Moment {
 public:
  Moment(const Store &store, const Pending &pending, int64_t newest);

  int64_t newest() const { return newest_; }
  int64_t indexed() const { return indexed_; }
  const Source &source() const { return source_; }
  const layouts::Layout &layout() const { return layout_; }
  const PendingCoins &coins() const { return *coins_; }
  std::unique_ptr<Cursor> cursor(uint32_t first, int64_t last) const;
  // Sets what blocks hold of the coins at these places in infos[tag].
  void read_coins(const std::vector<Place> &places, cdb_coin_info *infos) const;
  // Sets where older coins are confirmed, and what they are, in infos[tag]. Throws where one is
  // missing.
  void read_older(const std::vector<Asked> &names, cdb_coin_info *infos) const;

 private:
  const Snapshot source_;
  const layouts::Layout &layout_;
  const std::shared_ptr<const PendingBlocks> blocks_;
  const std::shared_ptr<const PendingCoins> coins_;
  const int64_t newest_, committed_, indexed_;
};

// Coins, a page at a time.
class CoinReader : public Reader {
 public:
  // Sets at most so many names and infos, and gives how many: none, too, of about as many entries
  // that it goes over. No number: there are no more.
  virtual std::optional<size_t> next(size_t most, uint8_t *names, cdb_coin_info *infos) = 0;
};

// All coins as of a block, or those that are unspent then: by name; then those that were in memory,
// as their blocks have them.
class StateReader : public CoinReader {
 public:
  StateReader(std::unique_ptr<Moment> moment, int64_t as_of, bool only_unspent);
  std::optional<size_t> next(size_t most, uint8_t *names, cdb_coin_info *infos) override;
  void release() override;

 private:
  bool read_page(size_t most);
  bool read_stored(size_t most);
  bool read_pending(size_t most);
  size_t give(uint8_t *names, cdb_coin_info *infos) const;

  std::unique_ptr<Moment> moment_;
  const int64_t as_of_;
  const bool only_unspent_;
  std::unique_ptr<layouts::CoinScan> stored_;  // null at its end
  size_t next_pending_ = 0;
  layouts::Scanned coins_;  // of a page
};

// What each block from one on leaves of the coins that it touches, by block and name.
class VersionReader : public CoinReader {
 public:
  VersionReader(std::unique_ptr<Moment> moment, int64_t first, int64_t last);
  std::optional<size_t> next(size_t most, uint8_t *names, cdb_coin_info *infos) override;
  void release() override;

 private:
  bool read_log(size_t most);
  bool read_blocks(size_t most);
  void add_block(const cdb_set_block &block);
  void add(const uint8_t *name, const cdb_coin_info &info);
  void fill_older();

  std::unique_ptr<Moment> moment_;
  std::unique_ptr<layouts::CoinScan> log_;  // null where the layout has none, or at its end
  std::unique_ptr<Cursor> blocks_;
  Bytes names_;
  std::vector<cdb_coin_info> infos_;  // those from given_ on are to be given
  std::vector<size_t> older_;         // of which only the spend is known
  size_t given_ = 0;
};

}  // namespace cdb::coin_set

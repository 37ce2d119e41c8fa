#include "coin_log/store/database.h"

#include "coin_log/store/reader.h"

namespace cdb::coin_log {

Database::Database(const char *path, const cdb_coin_log_options &options) {
  const Directory directory(path);
  lost_ = directory.lost;
  with_readable_mappings(
      *lost_, [&] { opening_ = std::make_unique<Opening>(directory, options, access_, readers_); });
}

bool Database::replay(uint64_t max_coins, uint64_t *coins) {
  if (opening_ == nullptr) throw Failure(CDB_INVALID, "", "there is nothing to replay");
  bool has_more = true;
  with_readable_mappings(*lost_, [&] { has_more = opening_->replay(max_coins, coins); });
  if (has_more) return false;
  store_ = opening_->take_store();
  opening_.reset();
  return true;
}

void Database::close(bool abandon) {
  if (opening_ != nullptr) opening_.reset();  // once it is open, readers look at that
  if (store_ == nullptr) return;
  std::exception_ptr failure;
  try {
    if (!abandon) with_readable_mappings(*lost_, [&] { store_->close(); });
  } catch (...) {
    failure = std::current_exception();
  }
  std::unique_ptr<Store> store;  // released when nobody is inside, and nobody waits for that
  {
    const Change change(access_);
    store = std::move(store_);
  }
  readers_.release();
  store.reset();
  if (failure) std::rethrow_exception(failure);
}

Store &Database::opened() {
  access_.check();
  return there();
}

Store &Database::there() {
  if (opening_ != nullptr) throw Failure(CDB_INVALID, "", "its log is not replayed yet");
  if (store_ == nullptr) throw Failure(CDB_CLOSED, "", "it is closed", "open it again");
  return *store_;
}

cdb_coin_log_totals Database::totals() {
  const Reading reading(access_);
  return there().totals();
}

void Database::doubt(const char *why) {
  const Change change(access_);
  access_.doubt(why);
}

}  // namespace cdb::coin_log

#include "database.h"

#include "opening.h"
#include "reader.h"

namespace cdb::coin_log {

Database::Database(const char *path, const cdb_coin_log_options &options) {
  const Directory directory{path};
  lost_ = directory.lost;
  with_readable_mappings(*lost_,
                         [&] { store_ = open_store(directory, options, access_, readers_); });
}

void Database::close(bool abandon) {
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

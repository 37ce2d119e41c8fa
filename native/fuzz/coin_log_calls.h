// What the targets of coin_log share.
#pragma once

#include "coin_log/cdb_coin_log_api.h"

#include "calls.h"

#include <string>

// Open a log and replay it, in steps as short as there are. *log stays null where that fails.
inline cdb_status open_whole(const std::string &path, const cdb_coin_log_options &options,
                             cdb_coin_log **log, cdb_error *error) {
  cdb_coin_log *opened = nullptr;
  cdb_status status = cdb_coin_log_open(path.c_str(), &options, &opened, error);
  if (status != CDB_OK) return status;
  uint64_t coins = 0;
  int32_t is_open = 0;
  while (status == CDB_OK && is_open == 0)
    status = cdb_coin_log_replay(opened, 1, &coins, &is_open, error);
  if (status == CDB_OK) {
    *log = opened;
    return status;
  }
  cdb_error of_close{};
  cdb_coin_log_close(opened, /*abandon=*/1, &of_close);
  cdb_coin_log_release(opened);
  return status;
}

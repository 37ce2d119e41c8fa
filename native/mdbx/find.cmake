# Defines cdb::mdbx, which no system has: it is bundled.
function(cdb_find_mdbx missing)
  find_program(CDB_CARGO cargo)
  if(CDB_CARGO OR EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/bundled/sources)
    cdb_unless_found(mdbx bundled)
  endif()
  set(${missing} "cargo, which fetches the source of MDBX (Debian: cargo)" PARENT_SCOPE)
endfunction()

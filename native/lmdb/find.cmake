# Defines cdb::lmdb, which has no CMake package, and on Debian no file for pkg-config.
function(cdb_find_lmdb missing)
  cdb_unless_found(lmdb ${CDB_LMDB})
  find_path(CDB_LMDB_DIR lmdb.h)
  find_library(CDB_LMDB_LIBRARY lmdb)
  if(CDB_LMDB_DIR AND CDB_LMDB_LIBRARY)
    add_library(cdb::lmdb UNKNOWN IMPORTED GLOBAL)
    set_target_properties(cdb::lmdb PROPERTIES IMPORTED_LOCATION ${CDB_LMDB_LIBRARY}
                                               INTERFACE_INCLUDE_DIRECTORIES ${CDB_LMDB_DIR})
    message(STATUS "LMDB: ${CDB_LMDB_LIBRARY}")
  else()
    set(${missing} "LMDB (Debian: liblmdb-dev)" PARENT_SCOPE)
  endif()
endfunction()

# Defines cdb::mdbx, which no system has: it is bundled, where somebody asks for it.
function(cdb_find_mdbx missing)
  cdb_unless_found(mdbx ${CDB_MDBX})
  set(${missing} "MDBX (-DCDB_MDBX=bundled)" PARENT_SCOPE)
endfunction()

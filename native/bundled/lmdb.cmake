cdb_crate(lmdb lmdb-master-sys)
set(lmdb ${lmdb}/lmdb/libraries/liblmdb)
add_library(lmdb STATIC ${lmdb}/mdb.c ${lmdb}/midl.c)
target_include_directories(lmdb SYSTEM PUBLIC ${lmdb})

cdb_crate(mdbx mdbx-sys)
set(mdbx ${mdbx}/libmdbx)
add_library(mdbx STATIC mdbx_whole_reads.c)
target_include_directories(mdbx SYSTEM PUBLIC ${mdbx})
# What its assertions find is thrown through it.
target_compile_options(mdbx PRIVATE -fexceptions)
target_compile_definitions(mdbx PRIVATE NDEBUG MDBX_BUILD_TIMESTAMP="" MDBX_BUILD_FLAGS="")

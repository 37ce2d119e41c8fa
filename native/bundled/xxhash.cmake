cdb_crate(xxhash xxhash-c-sys)
add_library(xxhash INTERFACE ${xxhash}/src/c/xxhash.h)  # with a source it is a target of its own
target_include_directories(xxhash SYSTEM INTERFACE ${xxhash}/src/c)

# RocksDB, and what it compresses by.
cdb_crate(rocksdb librocksdb-sys)
cdb_crate(zstd zstd-sys)
cdb_crate(lz4 lz4-sys)

file(GLOB zstd_sources ${zstd}/zstd/lib/common/*.c ${zstd}/zstd/lib/compress/*.c
     ${zstd}/zstd/lib/decompress/*.c ${zstd}/zstd/lib/decompress/*.S ${zstd}/zstd/lib/dictBuilder/*.c)
set(lz4_lib ${lz4}/liblz4/lib)
set(snappy ${rocksdb}/snappy)

file(STRINGS ${rocksdb}/rocksdb_lib_sources.txt listed)
list(FILTER listed EXCLUDE REGEX "^util/build_version[.]cc$")
list(TRANSFORM listed PREPEND ${rocksdb}/rocksdb/)
# Ten sources at a time: two and a half times less work than one by one.
add_library(rocksdb STATIC ${listed})
set_target_properties(rocksdb PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
set_source_files_properties(${rocksdb}/build_version.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_sources(rocksdb PRIVATE ${rocksdb}/build_version.cc)
target_include_directories(rocksdb SYSTEM PUBLIC ${rocksdb}/rocksdb/include)
target_include_directories(rocksdb PRIVATE ${rocksdb}/rocksdb ${rocksdb} ${snappy} ${lz4_lib}
                                           ${zstd}/zstd/lib)
# Without NDEBUG its assertions end the process of whoever reads damage.
target_compile_definitions(rocksdb PRIVATE
  NDEBUG HAVE_ALIGNED_NEW HAVE_UINT128_EXTENSION ROCKSDB_PLATFORM_POSIX ROCKSDB_LIB_IO_POSIX
  ROCKSDB_NO_DYNAMIC_EXTENSION SNAPPY=1 LZ4=1 ZSTD=1)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_compile_definitions(rocksdb PRIVATE
    OS_LINUX ROCKSDB_SCHED_GETCPU_PRESENT ROCKSDB_AUXV_GETAUXVAL_PRESENT ROCKSDB_FALLOCATE_PRESENT
    ROCKSDB_RANGESYNC_PRESENT ROCKSDB_MALLOC_USABLE_SIZE ROCKSDB_PTHREAD_ADAPTIVE_MUTEX)
elseif(APPLE)
  target_compile_definitions(rocksdb PRIVATE OS_MACOSX)
endif()

add_library(compression STATIC
  ${zstd_sources} ${lz4_lib}/lz4.c ${lz4_lib}/lz4hc.c ${lz4_lib}/lz4frame.c ${lz4_lib}/xxhash.c
  ${snappy}/snappy.cc ${snappy}/snappy-sinksource.cc ${snappy}/snappy-stubs-internal.cc)
target_include_directories(compression PRIVATE ${zstd}/zstd/lib ${snappy} ${rocksdb})
target_compile_definitions(compression PRIVATE NDEBUG ZSTD_LEGACY_SUPPORT=0
                           XXH_NAMESPACE=cdb_compression_)
target_link_libraries(rocksdb PRIVATE compression)

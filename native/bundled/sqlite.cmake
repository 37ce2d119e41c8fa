cdb_crate(sqlite libsqlite3-sys)
set(sqlite ${sqlite}/sqlite3)
add_library(sqlite STATIC ${sqlite}/sqlite3.c)
target_include_directories(sqlite SYSTEM PUBLIC ${sqlite})
target_compile_definitions(sqlite PRIVATE NDEBUG SQLITE_THREADSAFE=1 SQLITE_DQS=0
                           SQLITE_DEFAULT_MEMSTATUS=0 SQLITE_OMIT_LOAD_EXTENSION)

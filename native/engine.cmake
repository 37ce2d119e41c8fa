# What the extensions need: each cdb_find_* sets `missing` to what is not on this machine, or to "".

# A macro, because a language is enabled for the scope that asks.
macro(cdb_find_toolchain missing)
  set(${missing} "")
  foreach(language CXX C)
    check_language(${language})
    if(CMAKE_${language}_COMPILER)
      enable_language(${language})
    else()
      set(${missing} "a ${language} compiler")
    endif()
  endforeach()
  if(NOT ${missing})
    find_package(Python 3.11 COMPONENTS Interpreter Development.SABIModule)
    if(NOT Python_FOUND)
      set(${missing} "Python's headers")
    endif()
    find_package(Threads REQUIRED)
  endif()
endmacro()

# Begins a cdb_find_LIBRARY(missing): nothing is missing, and that returns at once, where the library
# has been found before or its option's value is `bundled`. A macro, because it returns for its caller.
macro(cdb_unless_found library value)
  set(${missing} "" PARENT_SCOPE)
  if(TARGET cdb::${library})
    return()
  endif()
  if("${value}" STREQUAL "bundled")
    cdb_use_bundled(${library})
    return()
  endif()
endmacro()

# Defines cdb::sha256, which is OpenSSL's unless CDB_HASHES=bundled.
function(cdb_find_sha256 missing)
  cdb_unless_found(sha256 ${CDB_HASHES})
  find_package(OpenSSL QUIET GLOBAL COMPONENTS Crypto)
  if(OPENSSL_FOUND)
    add_library(cdb::sha256 ALIAS OpenSSL::Crypto)
    message(STATUS "OpenSSL ${OPENSSL_VERSION}: ${OPENSSL_INCLUDE_DIR}")
  else()
    set(${missing} "OpenSSL (Debian: libssl-dev)" PARENT_SCOPE)
  endif()
endfunction()

# What each engine needs: cdb_find_ENGINE(), and what its headers ask of a source.
file(GLOB finders CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*/find.cmake)
foreach(finder IN LISTS finders)
  include(${finder})
endforeach()

# Defines cdb::xxhash, of which its headers are all that is used.
function(cdb_find_xxhash missing)
  cdb_unless_found(xxhash ${CDB_HASHES})
  find_path(CDB_XXHASH_DIR xxhash.h)
  if(NOT CDB_XXHASH_DIR)
    set(${missing} "xxHash (Debian: libxxhash-dev)" PARENT_SCOPE)
  else()
    add_library(cdb::xxhash INTERFACE IMPORTED GLOBAL)
    set_target_properties(cdb::xxhash PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${CDB_XXHASH_DIR})
  endif()
endfunction()

# cdb_do_without(missing what OPTION): say that `what` is left out; fail if OPTION demands it.
function(cdb_do_without missing what option)
  if(${option} STREQUAL "AUTO")
    message(WARNING "Without ${what}: ${missing} not found")
  else()
    message(FATAL_ERROR "${option}=${${option}}, but ${missing} not found")
  endif()
endfunction()

# cdb_sanitize(target): instrument it as CDB_SANITIZE says; scripts/sanitize runs tests with it.
function(cdb_sanitize target)
  if(CDB_SANITIZE STREQUAL "address")
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=all)
  elseif(CDB_SANITIZE STREQUAL "thread")
    # It warns that it does not see fences: ours orders reads against those of another process.
    set(flags -fsanitize=thread -Wno-tsan)
  elseif(CDB_SANITIZE STREQUAL "fuzzer")
    set(flags -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  elseif(CDB_SANITIZE)
    message(FATAL_ERROR "CDB_SANITIZE is OFF, address, thread or fuzzer, not ${CDB_SANITIZE}")
  else()
    return()
  endif()
  target_compile_options(${target} PRIVATE ${flags} -g -O1 -fno-omit-frame-pointer)
  target_link_options(${target} PRIVATE ${flags})
endfunction()

# cdb_add_extension(package._NAME "face;..." library source.cpp ...): the extension module package._NAME,
# which offers to Python what each face.h declares, and what all faces share; face_api.h beside it has
# both for a compiler.
function(cdb_add_extension module faces library)
  set(sources ${ARGN})
  string(REPLACE "." "/" path ${module})
  cmake_path(GET path PARENT_PATH package)
  cmake_path(GET path FILENAME name)

  set(headers ${CMAKE_CURRENT_SOURCE_DIR}/common/cdb_error.h
              ${CMAKE_CURRENT_SOURCE_DIR}/common/cdb_blocks.h
              ${CMAKE_CURRENT_SOURCE_DIR}/common/cdb_query.h)
  set(beside_faces "")
  set(included "")
  foreach(face IN LISTS faces)
    set(header ${CMAKE_CURRENT_SOURCE_DIR}/${face}.h)
    list(APPEND headers ${header})
    cmake_path(GET header PARENT_PATH beside_face)
    list(APPEND beside_faces ${beside_face})
    string(APPEND included "#include \"${face}_api.h\"\n")
  endforeach()
  set(declared ${CMAKE_CURRENT_BINARY_DIR}/${name}.cdef)
  set(api ${CMAKE_CURRENT_BINARY_DIR}/${name}.csrc)
  file(CONFIGURE OUTPUT ${api} CONTENT "${included}")
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name}.c)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -E cat ${headers} > ${declared}
    COMMAND ${Python_EXECUTABLE} -m cffi.gen_src read-sources
            ${module} ${declared} ${api} ${generated}
    DEPENDS ${headers} ${api}
    VERBATIM)

  cdb_add_module(${module} ${sources} ${generated})
  target_compile_features(${name} PRIVATE cxx_std_17)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${beside_faces})
  target_link_libraries(${name} PRIVATE ${library} Threads::Threads)
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS
    "-Wpedantic;-Wconversion;-Wsign-conversion;-Wshadow;-Wnon-virtual-dtor;-Woverloaded-virtual")
endfunction()

# cdb_add_module(package._NAME source ...): an extension module.
function(cdb_add_module module)
  string(REPLACE "." "/" path ${module})
  cmake_path(GET path PARENT_PATH package)
  cmake_path(GET path FILENAME name)
  python_add_library(${name} MODULE USE_SABI 3.11 WITH_SOABI ${ARGN})
  # Every engine defines the same names: they must not be seen outside their module.
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
                                           VISIBILITY_INLINES_HIDDEN ON)
  if(NOT APPLE)
    set(shown ${CMAKE_CURRENT_SOURCE_DIR}/extension.map)
    target_link_options(${name} PRIVATE -Wl,--version-script=${shown} -Wl,-z,now)
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${shown})
  endif()
  target_compile_options(${name} PRIVATE -Wall -Wextra -Werror)
  if(CDB_FAULTS)
    target_compile_definitions(${name} PRIVATE CDB_FAULTS)
  endif()
  cdb_sanitize(${name})

  cdb_place(${name} ${package})
endfunction()

# cdb_add_engine(ENGINE [IN LANGUAGE] [ASKED] [CHECKSUMS FILE]): engines/ENGINE.cpp with all that is kept in it,
# as the one extension module cdb.engines._ENGINE, unless CDB_ENGINE=OFF (by default CDB_ENGINES): the
# coin set by any of layouts/, the name index and, with CDB_LAB, the layouts without coins. What it needs
# but the coin set's own libraries: cdb::ENGINE, which cdb_find_ENGINE(missing) in ENGINE/find.cmake
# defines, where there is such a function.
# IN: the engine is in the library of that language, and engines/foreign.cpp leads to it. It takes a
# toolchain, so CDB_ENGINE is OFF by default; cdb_find_LANGUAGE(missing) calls cdb_add_foreign().
# ASKED: CDB_ENGINE is OFF by default, too.
# CHECKSUMS: the engine does not verify the values that it reads from FILE, so the coin set does.
function(cdb_add_engine engine)
  cmake_parse_arguments(PARSE_ARGV 1 of "ASKED" "CHECKSUMS;IN" "")
  string(TOUPPER CDB_${engine} option)
  set(default ${CDB_ENGINES})
  set(source engines/${engine}.cpp)
  if(of_IN OR of_ASKED)
    set(default OFF)
  endif()
  if(of_IN)
    set(source engines/foreign.cpp)
  endif()
  set(${option} ${default} CACHE STRING "Build the engine ${engine}: AUTO, ON, OFF or bundled")
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF bundled)
  if(NOT ${option})
    return()
  endif()
  set(needs sha256 ${engine} ${of_IN})
  if(of_CHECKSUMS)
    list(APPEND needs xxhash)
    set(checksums common/checksum.cpp)
  endif()
  set(missing ${missing_tool})
  foreach(need IN LISTS needs)
    if(NOT missing AND COMMAND cdb_find_${need})
      cmake_language(CALL cdb_find_${need} missing)
    endif()
  endforeach()
  if(missing)
    cdb_do_without("${missing}" "the engine ${engine}" ${option})
    return()
  endif()
  set(faces coin_set/cdb_coin_set name_index/cdb_name_index)
  if(CDB_LAB)
    list(APPEND faces versioned/cdb_versioned)
    set(versioned versioned/c_face.cpp versioned/database.cpp versioned/layouts.cpp
                  versioned/model.cpp)
  endif()
  cdb_add_extension(cdb.engines._${engine} "${faces}" cdb::sha256
                    coin_set/accept.cpp coin_set/block_log.cpp coin_set/c_face.cpp coin_set/children.cpp
                    coin_set/cursor.cpp coin_set/database.cpp coin_set/history.cpp
                    coin_set/keys.cpp coin_set/marks.cpp ordered_kv/ordered_kv.cpp
                    coin_set/pending.cpp coin_set/pending_keys.cpp
                    coin_set/query.cpp layouts/sorted_names.cpp coin_set/store.cpp
                    coin_set/stored_keys.cpp coin_set/view.cpp ${source}
                    name_index/name_index.cpp ${versioned}
                    ${rules} ${checksums} common/chains.cpp common/coin_name.cpp
                    common/failure.cpp common/lost_pages.cpp common/sha256_lanes.cpp)
  foreach(need IN LISTS needs)
    if(TARGET cdb::${need})
      target_link_libraries(_${engine} PRIVATE cdb::${need})
    endif()
  endforeach()
  if(of_CHECKSUMS)
    target_compile_definitions(_${engine} PRIVATE CDB_UNVERIFIED_FILE="${of_CHECKSUMS}")
  endif()
  if(of_IN)
    add_dependencies(_${engine} cdb_${of_IN})
    target_link_libraries(_${engine} PRIVATE ${CMAKE_DL_LIBS})
    target_compile_definitions(_${engine} PRIVATE CDB_FOREIGN_ENGINE="${engine}"
                                                  CDB_FOREIGN_LIBRARY="libcdb_${of_IN}.so")
  endif()
endfunction()

# cdb_add_foreign(LANGUAGE MAKES FILE SOURCES source ... COMMAND command ...): the target cdb_LANGUAGE,
# which is libcdb_LANGUAGE.so beside the extensions of the engines in it. The command is run in
# native/LANGUAGE when a source has changed, and makes it as FILE of the build's directory.
function(cdb_add_foreign language)
  cmake_parse_arguments(PARSE_ARGV 1 of "" "MAKES" "SOURCES;COMMAND")
  set(made ${CMAKE_CURRENT_BINARY_DIR}/${of_MAKES})
  set(library libcdb_${language}.so)
  set(placed ${CMAKE_CURRENT_BINARY_DIR}/${library})
  if(SKBUILD_STATE STREQUAL "editable")
    set(placed ${CMAKE_CURRENT_SOURCE_DIR}/../cdb/engines/${library})
  endif()
  add_custom_command(OUTPUT ${placed}
                     COMMAND ${of_COMMAND}
                     COMMAND ${CMAKE_COMMAND} -E rm -f ${placed}  # who has loaded it keeps it
                     COMMAND ${CMAKE_COMMAND} -E copy ${made} ${placed}
                     DEPENDS ${of_SOURCES}
                     WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${language}
                     COMMENT "Building ${library}" VERBATIM)
  add_custom_target(cdb_${language} DEPENDS ${placed})
  install(PROGRAMS ${placed} DESTINATION cdb/engines)
endfunction()

# cdb_add_preload(package._NAME source.c ...): the file package/_NAME.so, for LD_PRELOAD.
function(cdb_add_preload module)
  string(REPLACE "." "/" path ${module})
  cmake_path(GET path PARENT_PATH package)
  cmake_path(GET path FILENAME name)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Werror -Wpedantic -Wconversion
                                         -Wsign-conversion -Wshadow)
  target_link_libraries(${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  cdb_place(${name} ${package})
endfunction()

# cdb_place(target package/directory): where Python looks for it.
function(cdb_place target directory)
  if(SKBUILD_STATE STREQUAL "editable")
    set_target_properties(${target} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/../${directory})
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION ${directory})
endfunction()

# The libraries beneath the extensions from bundled/, where an option is `bundled`: what they are, and
# what is built once and kept while the extensions change.
#
#   -DCDB_BUNDLED_DIR=DIRECTORY   where they are kept: the default is build/bundled in a checkout

set(CDB_BUNDLED_DIR ${CMAKE_CURRENT_SOURCE_DIR}/../build/bundled CACHE PATH
    "Where bundled libraries are built and kept")

# cdb_run_for_bundled(what command ...): fails with what it said.
function(cdb_run_for_bundled what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${what}: ${failed}")
  endif()
endfunction()

# The crates' sources: those that an sdist carries, else what cargo fetches, of the versions in
# bundled/Cargo.lock.
function(cdb_bundled_sources directory)
  set(project ${CMAKE_CURRENT_SOURCE_DIR}/bundled)
  set(sources ${project}/sources)
  if(NOT EXISTS ${sources})
    file(SHA256 ${project}/Cargo.lock lock)
    string(SUBSTRING ${lock} 0 8 lock)
    set(sources ${CDB_BUNDLED_DIR}/sources-${lock})
  endif()
  set(${directory} ${sources} PARENT_SCOPE)
  if(EXISTS ${sources})
    return()
  endif()
  find_program(CDB_CARGO cargo)
  if(NOT CDB_CARGO)
    message(FATAL_ERROR "Bundled libraries are fetched by cargo (Debian: cargo), which is not here")
  endif()
  message(STATUS "Fetching the sources of the bundled libraries into ${sources}")
  cdb_run_for_bundled("cargo vendor" ${CDB_CARGO} vendor --quiet --locked --versioned-dirs
                      --manifest-path ${project}/Cargo.toml ${sources}.partial)
  file(RENAME ${sources}.partial ${sources})
endfunction()

# cdb_use_bundled(library): defines cdb::LIBRARY, built as the extensions are (compilers, sanitizers).
function(cdb_use_bundled library)
  cdb_bundled_sources(sources)
  set(built ${CDB_BUNDLED_DIR}/${CMAKE_CXX_COMPILER_ID}-${CMAKE_CXX_COMPILER_VERSION})
  if(CDB_SANITIZE)
    string(APPEND built -${CDB_SANITIZE})
  endif()
  message(STATUS "Bundled ${library}: in ${built}; its first build may take minutes")
  cdb_run_for_bundled("configuring ${library}" ${CMAKE_COMMAND}
    -S ${CMAKE_CURRENT_SOURCE_DIR}/bundled -B ${built} -G ${CMAKE_GENERATOR}
    -DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM} -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}
    -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
    -DCMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
    -DCDB_SOURCES=${sources} -DCDB_SANITIZE=${CDB_SANITIZE})
  cdb_run_for_bundled("building ${library}"
                      ${CMAKE_COMMAND} --build ${built} --target ${library} --parallel)
  if(NOT TARGET cdb_bundled::${library})
    include(${built}/bundled.cmake)
  endif()
  add_library(cdb::${library} ALIAS cdb_bundled::${library})
  set_property(GLOBAL APPEND PROPERTY cdb_bundled ${library})
endfunction()

# Has the package say what is bundled in it, and the wheel bring its licences: after all that may use
# cdb_use_bundled().
function(cdb_install_bill)
  get_property(libraries GLOBAL PROPERTY cdb_bundled)
  set(package ${CMAKE_CURRENT_SOURCE_DIR}/../cdb)
  if(SKBUILD_STATE STREQUAL "editable")
    file(REMOVE ${package}/bundled.cdx.json)
  endif()
  if(NOT libraries)
    return()
  endif()
  cdb_bundled_sources(sources)
  set(bill ${CMAKE_CURRENT_BINARY_DIR}/bill)
  cdb_run_for_bundled("the bill of materials" ${Python_EXECUTABLE}
    ${CMAKE_CURRENT_SOURCE_DIR}/bundled/bill.py ${sources} ${bill}
    ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${libraries})
  if(SKBUILD_STATE STREQUAL "editable")
    file(COPY ${bill}/sboms/bundled.cdx.json DESTINATION ${package})
  endif()
  install(FILES ${bill}/sboms/bundled.cdx.json DESTINATION cdb)
  install(DIRECTORY ${bill}/ DESTINATION ${SKBUILD_METADATA_DIR})
endfunction()

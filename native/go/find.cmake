# Defines cdb_go: the library of the engines in Go, whose versions go.mod and go.sum pin.
function(cdb_find_go missing)
  set(${missing} "" PARENT_SCOPE)
  if(TARGET cdb_go)
    return()
  endif()
  find_program(CDB_GO go HINTS /usr/local/go/bin)
  set(project ${CMAKE_CURRENT_SOURCE_DIR}/go)
  set(go ${CMAKE_COMMAND} -E env GOTOOLCHAIN=local GOFLAGS=-buildvcs=false CGO_ENABLED=1
         CC=${CMAKE_C_COMPILER} ${CDB_GO})
  set(too_old 1)
  if(CDB_GO)  # which refuses a module that wants a newer one
    execute_process(COMMAND ${go} list -m WORKING_DIRECTORY ${project} OUTPUT_QUIET ERROR_QUIET
                    RESULT_VARIABLE too_old)
  endif()
  if(too_old)
    set(${missing} "Go 1.25 or later (Debian: golang-go, from backports where it is older)"
        PARENT_SCOPE)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${project}/*.go ${project}/go.* ${project}/*.py)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles)
  cdb_add_foreign(go MAKES CMakeFiles/libcdb_go.so
                  SOURCES ${sources} ${CMAKE_CURRENT_SOURCE_DIR}/cdb_ordered_kv.h
                  COMMAND ${Python_EXECUTABLE} ${project}/build.py ${made}/go_modules
                          ${go} build -buildmode=c-shared -trimpath -ldflags=-s\ -w
                          -o ${made}/libcdb_go.so .)
endfunction()

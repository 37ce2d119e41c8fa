/* cdb_versioned.h, with what a compiler needs round it and cffi cannot read.
   It is also the C source that cffi puts in front of the module that it generates. */
#ifndef CDB_VERSIONED_API_H
#define CDB_VERSIONED_API_H

#include "common/shared_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "cdb_versioned.h"

#ifdef __cplusplus
}
#endif

#endif

/* cdb_name_index.h, with what a compiler needs round it and cffi cannot read.
   It is also the C source that cffi puts in front of the module that it generates. */
#include "common/shared_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "cdb_name_index.h"

#ifdef __cplusplus
}
#endif

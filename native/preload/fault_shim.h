// What the files of the preloaded library share.

#ifndef CDB_FAULT_SHIM_H
#define CDB_FAULT_SHIM_H

// A transaction has begun without a system call: from then on a writer may write where it is read.
// A thread that is to be held waits in this call.
void cdb_fault_begun(void);

#endif

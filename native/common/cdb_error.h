/*
 * How an error crosses the C face of an engine: as fields, so that nobody takes a text apart.
 *
 * cffi and C++ read this very file, in front of each engine's own face; a compiler gets it through
 * shared_api.h.
 *
 * A call that can fail returns a cdb_status. With any other than CDB_OK it has set all of *error;
 * after CDB_OK, *error is as it was. Texts are null-terminated and never null; one that is too long
 * lacks its middle.
 */

#define CDB_FILE_BYTES 512
#define CDB_WHAT_BYTES 1024
#define CDB_ADVICE_BYTES 256

/* Each says what a caller can do; an engine's face says which calls fail with the rarer ones. */
typedef enum {
  CDB_OK = 0,
  CDB_NOT_FOUND,  /* nothing is there, and it may not be created */
  CDB_FOREIGN,    /* it is there, but not ours, or of a version that this one cannot read */
  CDB_LOCKED,     /* somebody has it open for writing */
  CDB_CORRUPT,    /* damage was found; nothing wrong was returned */
  CDB_NO_SPACE,   /* the disk is full */
  CDB_IO,         /* the operating system refused a read or a write */
  CDB_TAKEN_BACK, /* blocks that were accepted on trust, and not acknowledged, are gone */
  CDB_UNVERIFIED, /* something was accepted on trust, and is not verified yet */
  CDB_CLOSED,     /* it was closed, or a write failed */
  CDB_REWOUND,    /* opened for reading, and rewound or replaced since */
  CDB_LIMIT,      /* one of the engine's limits is reached */
  CDB_INVALID,    /* the caller broke the contract */
  CDB_NO_MEMORY,
  CDB_FAILED /* anything else */
} cdb_status;

typedef struct {
  cdb_status status;
  int32_t system_errno;          /* why the system refused; 0: that is not known, or it did not */
  int64_t offset;                /* where in the file; -1: nowhere in particular */
  char file[CDB_FILE_BYTES];     /* relative to the database's directory; "": no file is at fault */
  char what[CDB_WHAT_BYTES];     /* the problem */
  char advice[CDB_ADVICE_BYTES]; /* what to do; "": what the status and the errno suggest */
} cdb_error;

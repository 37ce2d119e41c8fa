// What all C faces share, with what a compiler needs in front of it and cffi cannot read.
#pragma once

#include "error_api.h"

#include "cdb_blocks.h"
#include "cdb_query.h"

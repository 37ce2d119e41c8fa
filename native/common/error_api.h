// cdb_error.h, with what a compiler needs in front of it and cffi cannot read.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cdb_error.h"

/* The header in a file of its own, as most programs have it: no call to it is inlined. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

/* Fuzz target for operations: bytes become calls on four of them at once, with further copies,
   several nodes, all gates and a budget, beside a ledger of the walk's own. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "replay.h"

#include "operation_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    walk_through(data, size);
    return 0;
}

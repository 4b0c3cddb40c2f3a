#define RETRY_IMPLEMENTATION
#include "retry.h"

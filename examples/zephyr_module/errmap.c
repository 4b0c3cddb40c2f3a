#define ERRMAP_IMPLEMENTATION
#include "errmap.h"

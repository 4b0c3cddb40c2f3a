/* What the headers need of a C library, for compilers that come without one. */
#ifndef STRING_H
#define STRING_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
#ifdef __cplusplus
}
#endif
#endif

/* What the branches for MSVC take from its headers. */
#if !defined(WIN32_LEAN_AND_MEAN) || !defined(NOMINMAX)
#error "winsock2.h and std::min would clash"
#endif
typedef unsigned long DWORD;
typedef int BOOL;
typedef union LARGE_INTEGER {
    long long QuadPart;
} LARGE_INTEGER;
#define INFINITE 0xffffffff
BOOL QueryPerformanceCounter(LARGE_INTEGER *count);
BOOL QueryPerformanceFrequency(LARGE_INTEGER *frequency);
void Sleep(DWORD ms);

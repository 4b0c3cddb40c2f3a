/* What the branches for MSVC take from its headers; clang knows the intrinsics. */
long _InterlockedCompareExchange(long volatile *, long, long);
long _InterlockedExchange(long volatile *, long);
long _InterlockedExchangeAdd(long volatile *, long);

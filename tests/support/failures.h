/* What classifiers answer: each field of a failure, for any status. Include it after retry.h and
   check.h. */
#ifndef FAILURES_H
#define FAILURES_H

#include <limits.h>

CHECK_API retry_failure plain(retry_reason reason, uint32_t code)
{
    retry_failure failure;
    memset(&failure, 0, sizeof failure);
    failure.reason = reason;
    failure.code = code;
    return failure;
}

CHECK_API bool same(retry_failure a, retry_failure b)
{
    return a.reason == b.reason && a.safety == b.safety && a.fault == b.fault &&
           a.throttle == b.throttle && a.timeout == b.timeout && a.unknown == b.unknown &&
           a.pushback == b.pushback && a.retry_after == b.retry_after && a.code == b.code;
}

CHECK_API void check_failure(retry_failure expected, retry_failure got, const char *file, int line)
{
    if (same(expected, got) || !check_fault(file, line))
        return;
    printf("expected %s, safety %u, fault %u, throttle %d, timeout %d, unknown %d, after %lu; "
           "got %s, %u, %u, %d, %d, %d, %lu, code %lu\n",
           retry_reason_name(expected.reason), expected.safety, expected.fault, expected.throttle,
           expected.timeout, expected.unknown, (unsigned long)expected.retry_after,
           retry_reason_name(got.reason), got.safety, got.fault, got.throttle, got.timeout,
           got.unknown, (unsigned long)got.retry_after, (unsigned long)got.code);
}

#define CHECK_FAILURE(expected, got) check_failure((expected), (got), __FILE__, __LINE__)

/* Calls `check` with every status of three digits, and with what no server should send. */
CHECK_API void each_status(void (*check)(int status))
{
    static const int strange[] = {
        INT_MIN,
        -503,
        -1,
        INT_MAX,
#if INT_MAX > 0x7fff
        65536 + 503,
        65536 + 429,
        (1 << 24) + 4,
        0x7fff0000 + 500
#endif
    };
    int status;
    size_t i;
    for (status = 0; status < 1100; status++)
        check(status);
    for (i = 0; i < CHECK_COUNT(strange); i++)
        check(strange[i]);
}

#endif

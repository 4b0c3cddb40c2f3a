/* Checks of what retry_next says. For those who include retry.h and check.h before. */
#ifndef STEPS_H
#define STEPS_H

CHECK_API retry_step check_step(unsigned what, unsigned verdict, unsigned cause, retry_step got,
                                const char *file, int line)
{
    static const char *const names[] = {"SEND", "CANCEL", "WAIT", "END"};
    if ((what != got.what || verdict != got.verdict || cause != got.cause) &&
        check_fault(file, line))
        printf("expected %s, %s, %s; got %s %u, %s, %s, delay %lu\n", names[what & 3],
               what == RETRY_DO_END ? retry_verdict_name((uint8_t)verdict) : "-",
               retry_cause_text((uint8_t)cause), names[got.what & 3], (unsigned)got.copy,
               got.what == RETRY_DO_END ? retry_verdict_name(got.verdict) : "-",
               retry_cause_text(got.cause), (unsigned long)got.delay);
    return got;
}

/* Each is the step itself, so that a test can look at the rest of it. */
#define CHECK_SEND(step) check_step(RETRY_DO_SEND, 0, RETRY_CAUSE_NONE, (step), __FILE__, __LINE__)
#define CHECK_CANCEL(step) \
    check_step(RETRY_DO_CANCEL, 0, RETRY_CAUSE_NONE, (step), __FILE__, __LINE__)
#define CHECK_WAIT(cause, step) \
    check_step(RETRY_DO_WAIT, 0, RETRY_CAUSE_##cause, (step), __FILE__, __LINE__)
#define CHECK_END(verdict, cause, step)                                                      \
    check_step(RETRY_DO_END, RETRY_VERDICT_##verdict, RETRY_CAUSE_##cause, (step), __FILE__, \
               __LINE__)

#endif

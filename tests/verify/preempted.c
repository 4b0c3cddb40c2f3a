/* Small cores without atomics: two tasks on a Cortex-M0 (SysTick and PendSV switch between them),
   or a program and a timer's handler on an AVR, share a service. They come between each other
   anywhere, and all adds up. With RETRY_NO_ATOMICS it does not. Run by cross.sh, which tries both.
 */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"

#ifdef __AVR__
#include <avr/interrupt.h>
#include <util/atomic.h>
#define OPERATIONS 50000
#else
#define OPERATIONS 255000
#endif

enum { COST = 1000, DEPOSIT = 125 }; /* one retry in eight operations: the balance stays */
enum { LIMIT_MIN = 2, LIMIT_MAX = 20 };
#define HALF (UINT32_C(1) << 30)

typedef struct worker {
    retry_operation operation;
    bool open, sent, fails;
    uint32_t started, succeeded, retries;
} worker;

static retry_service service;
static worker workers[2];
static volatile bool wrong;
static volatile retry_time ticks;
static volatile uint32_t interrupts;

/* Runs `first`, while `between` is called again and again by the other task, or by the handler. */
static void work_beside(void (*first)(void), void (*between)(void));
static retry_time now_ms(void);
static void mask(bool on);
static bool masked(void);

/* The cycles to the next interrupt: 200 to 200 + range. */
static uint16_t next_interrupt(uint16_t range)
{
    static uint32_t luck;
    luck = (luck * 1664525u + 1013904223u) & UINT32_MAX;
    return (uint16_t)(200 + ((luck >> 16) * range >> 16));
}

/* One in eight fails at first, and some of these are throttled, which lowers the limit. */
static void begin(worker *self)
{
    self->open = true;
    self->fails = self->started++ % 8 == 0;
    self->operation.client = &service.client;
    self->operation.timeout = 1000;
    self->operation.idempotent = true;
    retry_start(&self->operation, NULL, now_ms());
}

/* A step on the way of one operation after the other. */
static void go_on(worker *self)
{
    retry_operation *op = &self->operation;
    retry_step step;
    if (self->sent) {
        retry_failure failure = retry_classify_http(self->started % 64 == 1 ? 429 : 500, 0);
        retry_ended(op, 0, self->fails ? &failure : NULL, now_ms());
        self->fails = false;
    } else if (!self->open) {
        begin(self);
    }
    step = retry_next(op, now_ms());
    self->sent = step.what == RETRY_DO_SEND;
    self->open = step.what != RETRY_DO_END;
    if (self->open)
        return;
    self->succeeded++;
    self->retries += op->retries;
    if (step.verdict != RETRY_VERDICT_SUCCESS ||
        *(const volatile uint32_t *)&service.gates.in_flight > CHECK_COUNT(workers))
        wrong = true; /* no operation would end any more */
}

static volatile bool enough, idle;

static void operate_between(void)
{
    if (!enough || workers[1].open)
        go_on(&workers[1]);
    else
        idle = true;
}

static void operate(void)
{
    while ((workers[0].open || workers[0].started < OPERATIONS) && !wrong)
        go_on(&workers[0]);
    enough = true;
    while (!idle && !wrong)
        continue;
}

static void test_operations(void)
{
    uint32_t i, balance = HALF;
    service.policy.backoff.curve = RETRY_CURVE_CONSTANT;
    service.policy.backoff.initial = service.policy.backoff.max = 1;
    service.policy.throttle_backoff = service.policy.backoff;
    service.budget.options.capacity = 2 * HALF;
    service.budget.options.retry_cost = COST;
    service.budget.options.success_deposit = DEPOSIT;
    service.limit.min = LIMIT_MIN;
    service.limit.max = LIMIT_MAX;
    retry_service_init(&service, now_ms());
    CHECK(retry_budget_withdraw(&service.budget, HALF, now_ms()));
    work_beside(operate, operate_between);
    for (i = 0; i < CHECK_COUNT(workers); i++) {
        balance += DEPOSIT * workers[i].succeeded - COST * workers[i].retries;
        printf("%lu operations, %lu retries, ", (unsigned long)workers[i].started,
               (unsigned long)workers[i].retries);
    }
    printf("%lu interrupts\n", (unsigned long)interrupts);
    CHECK(!wrong);
    CHECK(interrupts > OPERATIONS / 4);
    CHECK_EQUAL(0, service.gates.in_flight);
    CHECK_EQUAL(balance, retry_budget_balance(&service.budget));
    CHECK_RANGE(LIMIT_MIN, LIMIT_MAX - 1, retry_aimd_limit(&service.limit));
}

static retry_budget budget;

static void change_between(void)
{
    if (retry_budget_balance(&budget) == HALF)
        retry_budget_withdraw(&budget, 1, 0);
    else
        retry_budget_deposit(&budget, 1);
}

static void read_often(void)
{
    uint32_t i;
    for (i = 0; i < OPERATIONS; i++)
        CHECK_RANGE(HALF - 1, HALF, retry_budget_balance(&budget));
}

/* All bytes of a number are read at once. */
static void test_reads(void)
{
    const retry_budget_options options = options_of(HALF, 0);
    retry_budget_init(&budget, &options, 0);
    work_beside(read_often, change_between);
}

/* Who has masked interrupts finds them masked. */
static void test_what_was_masked(void)
{
    bool on;
    for (on = false;; on = true) {
        check_row("%smasked", on ? "" : "not ");
        mask(on);
        retry_seed(1);
        CHECK_EQUAL(on, masked());
        retry_random(NULL);
        CHECK_EQUAL(on, masked());
        retry_budget_balance(&service.budget);
        CHECK_EQUAL(on, masked());
        if (on)
            break;
    }
    mask(false);
}

#ifdef __AVR__
/* ---- AVR: a timer's handler -------------------------------------------------------------------
 */

static void (*call)(void);

ISR(TIMER1_COMPA_vect)
{
    ticks++;
    interrupts++;
    call();
    OCR1A = next_interrupt(20000);
    TCNT1 = 0;
}

static void work_beside(void (*first)(void), void (*between)(void))
{
    call = between;
    OCR1A = 1000;
    TCCR1B = _BV(WGM12) | _BV(CS10); /* from 0 to OCR1A, with the processor's clock */
    TIMSK1 = _BV(OCIE1A);
    sei();
    first();
    TIMSK1 = 0;
}

static retry_time now_ms(void)
{
    retry_time now;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    now = ticks;
    return now;
}

static void mask(bool on)
{
    if (on)
        cli();
    else
        sei();
}

static bool masked(void)
{
    return (SREG & _BV(SREG_I)) == 0;
}

#else
/* ---- Cortex-M0: a second task ------------------------------------------------------------------
 */

static volatile uint32_t *const systick = (volatile uint32_t *)0xe000e010;
static volatile uint32_t *const icsr = (volatile uint32_t *)0xe000ed04;
static uint32_t handlers_stack[128], second_stack[512];
static uint32_t *waiting; /* the stack of the task that does not run */
static void (*volatile call)(void);

/* picolibc's names */
void arm_systick_isr(void);
void arm_pendsv_isr(void);
uint32_t *switch_stacks(uint32_t *stack);

void arm_systick_isr(void)
{
    if ((systick[0] & 1) == 0) /* it was pending when it was switched off */
        return;
    ticks++;
    systick[1] = next_interrupt(1000); /* reload */
    systick[2] = 0;                    /* current value */
    *icsr = UINT32_C(1) << 28;         /* PendSV comes next */
}

uint32_t *switch_stacks(uint32_t *stack)
{
    uint32_t *next = waiting;
    waiting = stack;
    interrupts++;
    return next;
}

/* Below what the processor has saved: r4 to r7, r8 to r11. */
__attribute__((naked)) void arm_pendsv_isr(void)
{
    __asm__ volatile(".syntax unified\n"
                     "mrs r0, psp\n"
                     "subs r0, #32\n"
                     "mov r1, r0\n"
                     "stmia r1!, {r4-r7}\n"
                     "mov r4, r8\n"
                     "mov r5, r9\n"
                     "mov r6, r10\n"
                     "mov r7, r11\n"
                     "stmia r1!, {r4-r7}\n"
                     "push {r3, lr}\n"
                     "bl switch_stacks\n"
                     "adds r0, #16\n"
                     "ldmia r0!, {r4-r7}\n"
                     "mov r8, r4\n"
                     "mov r9, r5\n"
                     "mov r10, r6\n"
                     "mov r11, r7\n"
                     "msr psp, r0\n"
                     "subs r0, #32\n"
                     "ldmia r0!, {r4-r7}\n"
                     "pop {r3, pc}\n");
}

static void second_task(void)
{
    for (;;)
        call();
}

/* This task goes on with its stack, and handlers get another. */
static void begin_tasks(void)
{
    waiting = second_stack + CHECK_COUNT(second_stack) - 16;
    waiting[14] = (uint32_t)(uintptr_t)second_task & ~UINT32_C(1);
    waiting[15] = UINT32_C(1) << 24; /* Thumb */
    __asm__ volatile(".syntax unified\n"
                     "mov r0, sp\n"
                     "msr psp, r0\n"
                     "movs r0, #2\n"
                     "msr control, r0\n"
                     "isb\n"
                     "msr msp, %0\n"
                     :
                     : "r"(handlers_stack + CHECK_COUNT(handlers_stack))
                     : "r0", "memory");
}

static void work_beside(void (*first)(void), void (*between)(void))
{
    call = between;
    if (!waiting)
        begin_tasks();
    systick[1] = 1000;
    systick[2] = 0;
    systick[0] = 7; /* the processor's clock, interrupt, on */
    first();
    systick[0] = 0;
}

static retry_time now_ms(void)
{
    return ticks;
}

static void mask(bool on)
{
    if (on)
        __asm__ volatile("cpsid i");
    else
        __asm__ volatile("cpsie i");
}

static bool masked(void)
{
    uint32_t primask;
    __asm__ volatile("mrs %0, primask" : "=r"(primask));
    return primask != 0;
}
#endif

int main(void)
{
    RUN(test_operations);
    RUN(test_reads);
    RUN(test_what_was_masked);
    return check_done();
}

/* firmware.h: a sensor's firmware as far as it has nothing to do with the board that it runs on: a
   queue of operations, a radio, and a log of what retry.h decided. firmware.c says more. */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include "../../retry.h"

/* ---- Scenario ------------------------------------------------------------------------------ */

/* What the simulated radio does with one attempt. */
enum {
    RADIO_ANSWER, /* the gateway answers with `status` */
    RADIO_NOLINK, /* no link: nothing is sent */
    RADIO_DROP,   /* the link is lost with the request on the air */
    RADIO_STALL   /* no answer ever comes */
};

typedef struct radio_event {
    uint8_t kind;    /* RADIO_x */
    uint16_t status; /* of an answer; 0 is success */
} radio_event;

enum { SCENARIO_EVENTS = 12, SCENARIO_OPERATIONS = 24 };

typedef struct scenario_operation {
    const char *name;
    uint8_t opcode;
    bool idempotent;
    retry_ms timeout; /* ms for the whole operation */
    uint32_t event_count;
    radio_event events[SCENARIO_EVENTS]; /* one an attempt; the last goes on for ever */
} scenario_operation;

/* ---- Application --------------------------------------------------------------------------- */

#define APP_FIRST_TICK 0xffffe000u /* as after 49 days of running: the counter wraps in 8 s */

/* Takes the operations, one at least, one after the other, from the tick `now` on. They must
   outlive the run. */
void app_begin(const scenario_operation *operations, uint32_t count, retry_time now);

/* To be called for every tick; false once there is nothing left to do. */
bool app_tick(retry_time now);

/* Writes the log and a summary, line by line. True if the log is whole and nothing that is not
   idempotent can have been done twice. */
bool app_report(void (*write)(const char *line));

uint32_t app_log_size(void); /* bytes of RAM */

/* ---- Lines of text, without printf --------------------------------------------------------- */

typedef struct text_line {
    char text[120];
    uint32_t length;
} text_line;

void text_put(text_line *line, const char *words);
void text_decimal(text_line *line, uint32_t x);
void text_hex(text_line *line, uint32_t x, uint32_t digits);
void text_column(text_line *line, uint32_t column); /* blanks up to there, one at least */

#endif

/* readings.h: a device that sends what it measures. */
#ifndef READINGS_H
#define READINGS_H

#include <stdbool.h>
#include <stdint.h>

void readings_begin(uint32_t device); /* before the scheduler starts */
bool readings_add(uint32_t reading);  /* from any task; false: too many wait already */

/* Yours. The first sends one, and returns an HTTP status, or 0 if no answer came within `timeout`
   ms. The second hears how it ended. */
int reading_send(uint32_t reading, uint32_t timeout);
void reading_ended(uint32_t reading, bool done);

#endif

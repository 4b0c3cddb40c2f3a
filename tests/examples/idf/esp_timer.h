#ifndef ESP_TIMER_H
#define ESP_TIMER_H
#include "esp_mac.h"
typedef struct esp_timer *esp_timer_handle_t;
typedef struct {
    void (*callback)(void *context);
    void *arg;
    const char *name;
} esp_timer_create_args_t;
int64_t esp_timer_get_time(void);
esp_err_t esp_timer_create(const esp_timer_create_args_t *create, esp_timer_handle_t *timer);
esp_err_t esp_timer_start_once(esp_timer_handle_t timer, uint64_t us);
#endif

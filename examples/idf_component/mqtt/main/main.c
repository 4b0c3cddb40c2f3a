/* main.c: esp-mqtt, with its own reconnecting switched off: it would come back after 10 s each
   time, and so would all devices, in the same second. Here the waits grow, and are random. */
#include <stdbool.h>
#include <stdint.h>

#include "esp_mac.h"
#include "esp_random.h"
#include "esp_timer.h"
#include "mqtt_client.h"
#include "retry.h"

enum { SPREAD_MS = 30000, CONNECT_MS = 10000 };

/* When the broker fails, all devices come back over 10 s. */
static retry_connection pace = {.backoff = {.initial = 10000}, .min_connect_timeout = CONNECT_MS};
static esp_mqtt_client_handle_t client;
static esp_timer_handle_t timer;
static bool started;

static retry_time now_ms(void)
{
    return (retry_time)(esp_timer_get_time() / 1000);
}

static void connect_in(retry_ms wait)
{
    esp_timer_start_once(timer, (uint64_t)wait * 1000);
}

static void on_timer(void *unused)
{
    (void)unused;
    if (started)
        esp_mqtt_client_reconnect(client);
    else
        esp_mqtt_client_start(client);
    started = true;
}

/* esp-mqtt says DISCONNECTED of an attempt that failed, too. */
static void on_event(void *unused, esp_event_base_t base, int32_t id, void *event)
{
    (void)unused, (void)base, (void)event;
    if (id == MQTT_EVENT_BEFORE_CONNECT)
        retry_connection_begin(&pace, now_ms());
    else if (id == MQTT_EVENT_CONNECTED)
        retry_connection_established(&pace, now_ms());
    else if (id == MQTT_EVENT_DISCONNECTED)
        connect_in(retry_connection_failed(&pace, NULL, now_ms()));
}

/* The network is up: Wi-Fi and its own reconnecting are not shown here. */
void app_main(void)
{
    const esp_timer_create_args_t create = {.callback = on_timer, .name = "reconnect"};
    const esp_mqtt_client_config_t config = {.broker.address.uri = "mqtt://192.168.0.2",
                                             .network.timeout_ms = CONNECT_MS,
                                             .network.disable_auto_reconnect = true};
    uint8_t mac[6] = {0};
    retry_seed(esp_random());
    esp_read_mac(mac, ESP_MAC_BASE);
    client = esp_mqtt_client_init(&config);
    esp_mqtt_client_register_event(client, MQTT_EVENT_ANY, on_event, NULL);
    esp_timer_create(&create, &timer);
    /* Devices that lost power together do not come back together. */
    connect_in(retry_phase(mac, sizeof mac, SPREAD_MS));
}

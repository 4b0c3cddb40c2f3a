/* world DEVICE: the example on one device, in a world of simulated time. The broker fails after two
   minutes, for 40 s. Prints the ms of each connection attempt after that, and how it ended. The
   client behaves as esp-mqtt does: it says BEFORE_CONNECT and CONNECTED or DISCONNECTED; with its
   own reconnecting on, it waits for 10 s each time; esp_mqtt_client_reconnect works only while it
   waits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "esp_random.h"
#include "esp_timer.h"
#include "freertos/FreeRTOS.h"
#include "mqtt_client.h"

enum { GONE_AT = 120000, BACK_AT = 160000, END_AT = 400000, ANSWER_MS = 50, AUTO_MS = 10000 };
enum client_state { STOPPED, CONNECTING, CONNECTED, WAITING };

struct esp_timer {
    esp_timer_create_args_t create;
    int64_t due;
};
struct esp_mqtt_client {
    esp_event_handler_t handler;
    void *context;
    bool automatic;
    enum client_state state;
    int64_t due;
};

void app_main(void);

static struct esp_timer timer = {.due = -1};
static struct esp_mqtt_client client = {.due = -1};
static int64_t now; /* ms */
static uint32_t device, luck;
static unsigned depth, entered;

void kernel_locked(const portMUX_TYPE *mux)
{
    depth = mux->depth;
    entered = mux->entered;
}

esp_err_t esp_read_mac(uint8_t *mac, esp_mac_type_t type)
{
    (void)type;
    memset(mac, 0, 6);
    memcpy(mac + 2, &device, sizeof device);
    return ESP_OK;
}

uint32_t esp_random(void)
{
    luck ^= luck << 13;
    luck ^= luck >> 17;
    luck ^= luck << 5;
    return luck;
}

int64_t esp_timer_get_time(void)
{
    return now * 1000;
}

esp_err_t esp_timer_create(const esp_timer_create_args_t *create, esp_timer_handle_t *handle)
{
    timer.create = *create;
    *handle = &timer;
    return ESP_OK;
}

esp_err_t esp_timer_start_once(esp_timer_handle_t handle, uint64_t us)
{
    if (handle->due >= 0)
        return ESP_FAIL;
    handle->due = now + (int64_t)(us / 1000);
    return ESP_OK;
}

esp_mqtt_client_handle_t esp_mqtt_client_init(const esp_mqtt_client_config_t *config)
{
    client.automatic = !config->network.disable_auto_reconnect;
    return &client;
}

esp_err_t esp_mqtt_client_register_event(esp_mqtt_client_handle_t handle, esp_mqtt_event_id_t event,
                                         esp_event_handler_t handler, void *context)
{
    handle->handler = handler;
    handle->context = context;
    return event == MQTT_EVENT_ANY ? ESP_OK : ESP_FAIL;
}

static bool broker_works(void)
{
    return now < GONE_AT || now >= BACK_AT;
}

static void become(enum client_state state, int64_t lasts, esp_mqtt_event_id_t event)
{
    client.state = state;
    client.due = lasts < 0 ? -1 : now + lasts;
    client.handler(client.context, "MQTT_EVENTS", event, NULL);
}

static void begin_connecting(void)
{
    become(CONNECTING, ANSWER_MS, MQTT_EVENT_BEFORE_CONNECT);
}

esp_err_t esp_mqtt_client_start(esp_mqtt_client_handle_t handle)
{
    if (handle->state != STOPPED)
        return ESP_FAIL;
    begin_connecting();
    return ESP_OK;
}

esp_err_t esp_mqtt_client_reconnect(esp_mqtt_client_handle_t handle)
{
    if (handle->state != WAITING)
        return ESP_FAIL;
    begin_connecting();
    return ESP_OK;
}

static void disconnect(void)
{
    become(WAITING, client.automatic ? AUTO_MS : -1, MQTT_EVENT_DISCONNECTED);
}

static void end_connecting(void)
{
    if (now > GONE_AT)
        printf("%ld %s\n", (long)now, broker_works() ? "connected" : "refused");
    if (broker_works())
        become(CONNECTED, -1, MQTT_EVENT_CONNECTED);
    else
        disconnect();
}

static void tick(void)
{
    if (timer.due >= 0 && timer.due <= now) {
        timer.due = -1;
        timer.create.callback(timer.create.arg);
    }
    if (client.state == CONNECTED && !broker_works())
        disconnect();
    else if (client.state == CONNECTING && client.due <= now)
        end_connecting();
    else if (client.state == WAITING && client.due >= 0 && client.due <= now)
        begin_connecting();
}

int main(int count, char **arguments)
{
    device = (uint32_t)atoi(count > 1 ? arguments[1] : "1");
    luck = device * 2654435761u | 1;
    for (app_main(); now < END_AT; now++)
        tick();
    if (count > 2)
        printf("locked %u times\n", entered);
    return client.state == CONNECTED && depth == 0 ? 0 : 1;
}

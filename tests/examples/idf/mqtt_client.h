#ifndef MQTT_CLIENT_H
#define MQTT_CLIENT_H
#include <stdbool.h>
#include "esp_mac.h"
typedef const char *esp_event_base_t;
typedef enum {
    MQTT_EVENT_ANY = -1,
    MQTT_EVENT_ERROR,
    MQTT_EVENT_CONNECTED,
    MQTT_EVENT_DISCONNECTED,
    MQTT_EVENT_BEFORE_CONNECT = 7
} esp_mqtt_event_id_t;
typedef struct esp_mqtt_client *esp_mqtt_client_handle_t;
typedef struct {
    struct {
        struct {
            const char *uri;
        } address;
    } broker;
    struct {
        int reconnect_timeout_ms;
        int timeout_ms;
        bool disable_auto_reconnect;
    } network;
} esp_mqtt_client_config_t;
typedef void (*esp_event_handler_t)(void *context, esp_event_base_t base, int32_t id, void *event);
esp_mqtt_client_handle_t esp_mqtt_client_init(const esp_mqtt_client_config_t *config);
esp_err_t esp_mqtt_client_register_event(esp_mqtt_client_handle_t client, esp_mqtt_event_id_t event,
                                         esp_event_handler_t handler, void *context);
esp_err_t esp_mqtt_client_start(esp_mqtt_client_handle_t client);
esp_err_t esp_mqtt_client_reconnect(esp_mqtt_client_handle_t client);
#endif

/* Stand-ins for the headers of ESP-IDF and esp-mqtt that the example includes: what it uses of
   them, and no more. world.c is behind them. */
#ifndef ESP_MAC_H
#define ESP_MAC_H
#include <stdint.h>
typedef int esp_err_t;
typedef enum {
    ESP_MAC_WIFI_STA,
    ESP_MAC_WIFI_SOFTAP,
    ESP_MAC_BT,
    ESP_MAC_ETH,
    ESP_MAC_BASE
} esp_mac_type_t;
#define ESP_OK 0
#define ESP_FAIL (-1)
esp_err_t esp_read_mac(uint8_t *mac, esp_mac_type_t type);
#endif

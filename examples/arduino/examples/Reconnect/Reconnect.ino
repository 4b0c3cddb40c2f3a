/* Reconnect: a device that stays connected to a server. When the server refuses, does not answer or
   breaks the connection, the device waits and tries again. The waits grow and are random, so that
   all devices do not come back at once.

   No network is needed to try it. Open the Serial Monitor at 115200 baud, and be the server: send
   y to accept, n to refuse, x to break the connection. Or send nothing. */
#include <retry.h>

static const uint32_t device = 1; // another number for each device

// ---- The network: replace these two by yours ---------------------------------------------------

enum Link { LINK_SILENT, LINK_UP, LINK_DOWN };

static void begin_connecting() // such as WiFi.begin(), or a connect() that does not block
{
    Serial.println(F("connect?"));
}

static Link poll_link() // what has just become of the connection
{
    switch (Serial.read()) {
    case 'y':
        return LINK_UP;
    case 'n':
    case 'x':
        return LINK_DOWN;
    default:
        return LINK_SILENT;
    }
}

// ---- The same for every network ----------------------------------------------------------------

static retry_connection connection; // zero: 1 s, 1.6 s, 2.56 s ... up to 2 minutes, as gRPC does it
static enum { WAITING, CONNECTING, CONNECTED } state;
static uint32_t since; // when the state began, by millis()
static retry_ms lasts; // how long it may last

static void enter_waiting(const __FlashStringHelper *why, retry_ms wait)
{
    Serial.print(why);
    Serial.print(F(": wait "));
    Serial.println(wait);
    state = WAITING;
    lasts = wait;
    since = millis();
}

static void enter_connecting()
{
    state = CONNECTING;
    since = millis();
    lasts = retry_connection_begin(&connection, since);
    begin_connecting();
}

void setup()
{
    Serial.begin(115200);
    retry_seed(device);
    // Devices that lost power together do not come back together.
    enter_waiting(F("start"), retry_phase(&device, sizeof device, 5000));
}

void loop()
{
    const uint32_t now = millis();
    const bool over = now - since >= lasts;
    const Link link = poll_link();
    if (state == WAITING) {
        if (over)
            enter_connecting();
    } else if (state == CONNECTING && link == LINK_UP) {
        retry_connection_established(&connection, now);
        state = CONNECTED;
        Serial.println(F("connected"));
    } else if (link == LINK_DOWN) {
        enter_waiting(state == CONNECTED ? F("lost") : F("refused"),
                      retry_connection_failed(&connection, NULL, now));
    } else if (state == CONNECTING && over) {
        enter_waiting(F("no answer"), retry_connection_failed(&connection, NULL, now));
    }
    // Here goes what your device does: nothing above blocks.
}

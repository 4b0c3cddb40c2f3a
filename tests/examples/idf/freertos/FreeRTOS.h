#ifndef FREERTOS_H
#define FREERTOS_H
typedef struct {
    unsigned depth, entered;
} portMUX_TYPE;
#define portMUX_INITIALIZER_UNLOCKED \
    {                                \
        0, 0                         \
    }
#define portENTER_CRITICAL_SAFE(mux) ((mux)->depth++, (mux)->entered++, kernel_locked(mux))
#define portEXIT_CRITICAL_SAFE(mux) ((mux)->depth--, kernel_locked(mux))
void kernel_locked(const portMUX_TYPE *mux); /* is called with each step */
#endif

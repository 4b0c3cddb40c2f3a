/* How the kernel is configured, the stand-in and a real one. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#ifndef TICK_RATE
#define TICK_RATE 100
#endif

#define configTICK_RATE_HZ ((TickType_t)TICK_RATE)
#ifdef TICKS_OF_16_BITS
#define configUSE_16_BIT_TICKS 1
#else
#define configUSE_16_BIT_TICKS 0
#endif
/* The count begins 4 s before it wraps. */
#define configINITIAL_TICK_COUNT ((TickType_t)(0u - 4u * TICK_RATE))

/* What a real kernel wants to know besides. */
#define configCPU_CLOCK_HZ 25000000
#define configMAX_PRIORITIES 4
#define configMINIMAL_STACK_SIZE 128
#define configTOTAL_HEAP_SIZE 8192
#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define configENABLE_MPU 0
#define configUSE_PREEMPTION 1
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configUSE_TIMERS 0
#define configUSE_MUTEXES 0
#define configCHECK_FOR_STACK_OVERFLOW 0
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0x40
#define configKERNEL_INTERRUPT_PRIORITY 0xff
#define INCLUDE_vTaskDelay 1
#define INCLUDE_uxTaskGetStackHighWaterMark 1
#define SVC_Handler arm_svc_isr
#define PendSV_Handler arm_pendsv_isr
#define SysTick_Handler arm_systick_isr
#define vPortSVCHandler arm_svc_isr
#define xPortPendSVHandler arm_pendsv_isr
#define xPortSysTickHandler arm_systick_isr

#endif

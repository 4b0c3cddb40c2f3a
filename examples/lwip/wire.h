/* wire.h: a network interface for lwIP whose other end is another program: each IP packet is one
   UDP packet on 127.0.0.1. On a board your driver stands here. */
#ifndef WIRE_H
#define WIRE_H

#include <arpa/inet.h>
#include <lwip/init.h>
#include <lwip/ip4.h>
#include <lwip/netif.h>
#include <lwip/pbuf.h>
#include <lwip/sys.h>
#include <lwip/tcp.h>
#include <lwip/timeouts.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

static struct netif wire;
static int wire_fd;
static struct sockaddr_in wire_far;

static err_t wire_output(struct netif *netif, struct pbuf *packet, const ip4_addr_t *to)
{
    char bytes[2048];
    const u16_t length = pbuf_copy_partial(packet, bytes, sizeof bytes, 0);
    (void)netif, (void)to;
    sendto(wire_fd, bytes, length, 0, (struct sockaddr *)&wire_far, sizeof wire_far);
    return ERR_OK; /* a lost packet is TCP's business */
}

static err_t wire_init(struct netif *netif)
{
    netif->name[0] = netif->name[1] = 'w';
    netif->mtu = 1500;
    netif->output = wire_output;
    return ERR_OK;
}

static struct sockaddr_in wire_address(int port)
{
    struct sockaddr_in address = {0};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)port);
    return address;
}

/* 10.0.0.N, whose packets go to another program's port and come to this one's. */
static bool wire_begin(uint8_t n, int near_port, int far_port)
{
    struct sockaddr_in near = wire_address(near_port);
    ip4_addr_t address, mask, none = {0};
    wire_far = wire_address(far_port);
    wire_fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (bind(wire_fd, (struct sockaddr *)&near, sizeof near) != 0)
        return false;
    IP4_ADDR(&address, 10, 0, 0, n);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    lwip_init();
    netif_add(&wire, &address, &mask, &none, NULL, wire_init, ip4_input);
    netif_set_default(&wire);
    netif_set_up(&wire);
    netif_set_link_up(&wire);
    return true;
}

/* Lets lwIP do what is due. Waits for packets, for another file (-1: none), or so many ms. */
static void wire_poll(int fd, uint32_t ms)
{
    struct pollfd files[2] = {{wire_fd, POLLIN, 0}, {fd, POLLIN, 0}};
    const uint32_t sleeps = sys_timeouts_sleeptime();
    char bytes[2048];
    ssize_t length;
    poll(files, 2, (int)(ms < sleeps ? ms : sleeps));
    while ((length = recv(wire_fd, bytes, sizeof bytes, 0)) > 0) {
        struct pbuf *packet = pbuf_alloc(PBUF_RAW, (u16_t)length, PBUF_RAM);
        if (packet && pbuf_take(packet, bytes, (u16_t)length) == ERR_OK)
            wire.input(packet, &wire);
    }
    sys_check_timeouts();
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the device's own event loop, and how it pauses while another thread
 * computes the results of a large command.
 */
#ifndef AXL_LOOP_LOOP_H
#define AXL_LOOP_LOOP_H

#include "qemu-device/core/device.h"
#include "qemu-device/numerics/numerics.h"

typedef struct AxlLoop {
    AxlDevice *dev;
    Object *owner;
    void (*bus_reset)(AxlDevice *s); /* when it is wanted and the device is at rest */
    QEMUTimer *timer;    /* NULL: unplugged */
    int64_t armed_ns;
    int64_t promised_ns; /* nothing shows on the bus before */
    uint64_t late_wakes; /* how often that was wrong */
    bool eager;          /* property: wake for every event, as a reference */
    bool running;        /* between axl_sim_enter() and axl_sim_leave() */
    bool reset_wanted;   /* a bus reset that came by a write of our own */
    AxlWorker worker;
    unsigned engine;     /* whose command it computes: the device stands at its end */
    VMChangeStateEntry *vm_changed;
} AxlLoop;

/* How an access to the device waits for a command that another thread computes. */
typedef enum AxlWait {
    AXL_WAIT_NOT,      /* the device may be left standing at its end */
    AXL_WAIT_LOCKED,
    AXL_WAIT_UNLOCKED, /* others may access the device meanwhile */
} AxlWait;

/* sim.c */
void axl_loop_init(AxlLoop *l);
void axl_loop_stop(AxlLoop *l); /* unplugged: no event runs any more */
void axl_loop_end(AxlLoop *l);
bool axl_sim_enter_as(AxlLoop *l, AxlWait wait);
bool axl_sim_enter(AxlLoop *l); /* run what is due; the device is at `now` */
void axl_sim_leave(AxlLoop *l);
void axl_sim_catch_up(AxlLoop *l); /* both, unless it is at work */

/* aside.c: below sim.c */
bool axl_aside_begin(AxlLoop *l, unsigned engine, const struct axl_desc *d);
unsigned axl_aside_take(AxlLoop *l); /* may be the device's end */
void axl_aside_wait(AxlLoop *l, bool unlocked);
void axl_aside_stop_time(AxlLoop *l);

/* foresight.c: below sim.c */
int64_t axl_foresight(const AxlDevice *s, int64_t next);
void axl_foresight_check(AxlLoop *l); /* on every bus access that is visible outside */

#endif /* AXL_LOOP_LOOP_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the accelerator behind its PCI function: the state that all parts share,
 * and the table of upcalls by which a part calls the parts above it.
 *
 * Every model time is QEMU_CLOCK_VIRTUAL in ns. The device runs its own event
 * slots in time order and stamps them with their own instant, so results do not
 * depend on when the host runs a timer (loop/sim.c).
 */
#ifndef AXL_CORE_DEVICE_H
#define AXL_CORE_DEVICE_H

#include "qemu-device/host/compat.h"

#include "kmod/uapi/axl_counters.h"
#include "kmod/uapi/axl_hw.h"
#include "qemu-device/core/command.h"
#include "qemu-device/knobs/knobs.h"
#include "qemu-device/memory/memory.h"
#include "qemu-device/timing/timing.h"

/*
 * Effects that the device emits by itself may become visible this much late:
 * loop/sim.c.
 */
#define AXL_LATE_NS 100000

/* Event slots; each has at most one deadline. */
enum {
    AXL_EV_ENGINE_ = 0,
    AXL_EV_FETCH = AXL_EV_ENGINE_ + AXL_NUM_ENGINES,
    AXL_EV_COMPLETION = AXL_EV_FETCH + AXL_MAX_QUEUES,
    AXL_EV_WRITEBACK = AXL_EV_COMPLETION + AXL_MAX_QUEUES,
    AXL_EV_SAMPLE = AXL_EV_WRITEBACK + AXL_MAX_TRACE_RINGS,
    AXL_EV_IRQ = AXL_EV_SAMPLE + AXL_MAX_TRACE_RINGS,
    AXL_EV_RAMP,
    AXL_EV_LINK_UP,
    AXL_NUM_EVENTS,
};

typedef struct AxlDevice AxlDevice;

/* Upcalls, set once by pci/axl.c. */
typedef struct AxlUpcalls {
    /* Bus access. Addresses in the device's own BARs are refused; false means failure. */
    bool (*allowed)(AxlDevice *s, uint64_t addr, uint64_t bytes);
    bool (*read)(AxlDevice *s, uint64_t addr, void *buf, uint64_t bytes);
    bool (*write)(AxlDevice *s, uint64_t addr, const void *buf, uint64_t bytes);
    /* Small counted transfers other than copies: rings, lists, indexes, records. */
    bool (*fetch)(AxlDevice *s, uint64_t addr, void *buf, uint64_t bytes);
    bool (*store)(AxlDevice *s, uint64_t addr, const void *buf, uint64_t bytes);
    /* A posted write: at most AXL_LATE_NS late, in order. */
    bool (*post)(AxlDevice *s, uint64_t addr, const void *buf, uint64_t bytes);
    /* Interrupts: the message of a vector, or vector 0 for causes of AXL_INT_*. */
    bool (*msix)(AxlDevice *s, unsigned vector);
    void (*interrupt)(AxlDevice *s, uint32_t causes);
    /* Accounts all engines up to now; called before counters are read. */
    void (*settle)(AxlDevice *s);
    /* A command failed; halts its context. */
    void (*halt)(AxlDevice *s, unsigned ctx, unsigned status, uint32_t job, uint32_t index);
    /* Computes a large command on another thread; axl_engine_end() follows. */
    bool (*aside)(AxlDevice *s, unsigned engine, const struct axl_desc *d);
} AxlUpcalls;

struct AxlDevice {
    const AxlUpcalls *up;
    const char *id;    /* in QEMU's trace events */
    unsigned index;    /* in order of creation */
    bool removed;      /* surprise removal: nothing answers */

    AxlKnobs knob;
    AxlFaults fault;
    AxlMemory mem;
    AxlTiming timing;

    int64_t now; /* model time */
    int64_t due[AXL_NUM_EVENTS];

    struct AxlObserver *observe; /* counters, clock, trace rings, truth log: observe/ */
    struct AxlFrontEnd *front;   /* queues, contexts, engines: frontend/ */
};

static inline void axl_sim_at(AxlDevice *s, unsigned event, int64_t ns)
{
    s->due[event] = ns;
}

#endif /* AXL_CORE_DEVICE_H */

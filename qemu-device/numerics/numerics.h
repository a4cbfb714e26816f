/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: computes the results of commands, from device memory to device memory.
 * axl_decode() has checked the descriptors; checks that depend on data (gather
 * indices) are made here.
 */
#ifndef AXL_NUMERICS_NUMERICS_H
#define AXL_NUMERICS_NUMERICS_H

#include "qemu-device/host/compat.h"

#include "kmod/uapi/axl_hw.h"
#include "qemu-device/memory/memory.h"

static inline float axl_f32(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* matmul.c, vector.c */
void axl_matmul(const AxlMemory *mem, const struct axl_matmul *m);
unsigned axl_vector(const AxlMemory *mem, unsigned opcode, const struct axl_vector *v);

/*
 * numerics.c: the result is enum axl_status; the cost is in steps of the host,
 * four about a ns.
 */
unsigned axl_numbers(const AxlMemory *mem, const struct axl_desc *d);
uint64_t axl_numbers_steps(const struct axl_desc *d);

/*
 * worker.c: a thread for large commands. It only sees a copy of the descriptor
 * and device memory.
 */
typedef struct AxlWorker {
    uint64_t work;       /* property: steps from which on, 0 = never */
    uint64_t commands;   /* so far */
    bool active;         /* one was begun and not yet taken */
    struct axl_desc desc; /* the thread's, with status, until `finished` */
    unsigned status;
    bool finished;
    bool quit;
    bool started;
    const AxlMemory *mem;
    QEMUBH *bh;          /* scheduled when one is finished */
    QemuThread thread;
    QemuEvent start, done;
} AxlWorker;

void axl_worker_begin(AxlWorker *w, const struct axl_desc *d);
bool axl_worker_done(const AxlWorker *w);
void axl_worker_wait(AxlWorker *w);
unsigned axl_worker_take(AxlWorker *w); /* what it ended with */
void axl_worker_end(AxlWorker *w);

#endif /* AXL_NUMERICS_NUMERICS_H */

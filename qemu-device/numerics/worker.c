/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: the thread that computes large commands without QEMU's lock. */
#include "qemu-device/numerics/numerics.h"

static void *axl_worker_thread(void *opaque)
{
    AxlWorker *w = opaque;

    for (;;) {
        qemu_event_wait(&w->start);
        qemu_event_reset(&w->start);
        if (qatomic_load_acquire(&w->quit)) {
            return NULL;
        }
        w->status = axl_numbers(w->mem, &w->desc);
        qatomic_store_release(&w->finished, true);
        qemu_event_set(&w->done);
        qemu_bh_schedule(w->bh);
    }
}

void axl_worker_begin(AxlWorker *w, const struct axl_desc *d)
{
    if (!w->started) {
        qemu_event_init(&w->start, false);
        qemu_event_init(&w->done, false);
        qemu_thread_create(&w->thread, "axl-numbers", axl_worker_thread, w, QEMU_THREAD_JOINABLE);
        w->started = true;
    }
    w->active = true;
    w->desc = *d;
    w->commands++;
    w->finished = false;
    qemu_event_reset(&w->done);
    qemu_event_set(&w->start);
}

bool axl_worker_done(const AxlWorker *w)
{
    return w->active && qatomic_load_acquire(&w->finished);
}

void axl_worker_wait(AxlWorker *w)
{
    qemu_event_wait(&w->done);
}

unsigned axl_worker_take(AxlWorker *w)
{
    w->active = false;
    return w->status;
}

void axl_worker_end(AxlWorker *w)
{
    if (!w->started) {
        return;
    }
    qatomic_store_release(&w->quit, true);
    qemu_event_set(&w->start);
    qemu_thread_join(&w->thread);
    qemu_event_destroy(&w->start);
    qemu_event_destroy(&w->done);
    w->started = false;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: the driver's own trace ring, see axl_driver_ring.c. */
#ifndef AXL_DRIVER_RING_H
#define AXL_DRIVER_RING_H

#include <linux/atomic.h>

#include "axl_dev.h"

extern atomic_t axl_driver_rings;

/* True if the driver ring of any device is open. */
static __always_inline bool axl_driver_ring_on(void)
{
	return unlikely(atomic_read(&axl_driver_rings));
}

/* The current thread's ids in the pid namespace of the ring's reader. */
void axl_driver_ring_numbers(struct axl_driver_ring *ring, u32 *pid, u32 *tid);

/*
 * Records the submission data of a job. hwq->lock held. entered and rung are the stamps of the
 * ioctl's entry and of the doorbell, whose time is rung_ns.
 */
static __always_inline void axl_job_note(struct axl_driver_ring *ring, struct axl_job *job,
					 const struct axl_submit *cmd, u64 copy_bytes, u64 entered,
					 u64 rung, u64 rung_ns)
{
	job->noted = true;
	job->submit = entered;
	job->doorbell = rung;
	job->doorbell_ns = rung_ns;
	job->copy_bytes = copy_bytes;
	job->num_cmds = cmd->num_cmds;
	job->cpu = raw_smp_processor_id();
	job->pid = current->tgid;
	job->tid = current->pid;
	job->ring_pid = current->tgid;
	job->ring_tid = current->pid;
	if (unlikely(READ_ONCE(ring->ns)))
		axl_driver_ring_numbers(ring, &job->ring_pid, &job->ring_tid);
	job->submit_end = axl_stamp();
}

/* Records a job that is over, or one in flight. hwq->lock held. irq, complete: stamps or 0. */
void axl_driver_ring_job(struct axl_driver_ring *ring, const struct axl_queue *q,
			 const struct axl_job *job, u32 status, u64 ticks, u64 irq, u64 complete);
/*
 * Records a completed wait. hwq->lock held. job is the job waited for, or NULL if no longer known.
 * wait_ns is the wait's start, or 0 if there was nothing to wait for.
 */
void axl_driver_ring_wait(struct axl_driver_ring *ring, const struct axl_queue *q,
			  const struct axl_wait *cmd, const struct axl_job *job, u32 status,
			  u64 wait_ns);

#endif /* AXL_DRIVER_RING_H */

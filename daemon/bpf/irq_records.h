/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The maps of irq.bpf.c, shared with daemon/sources. */
#ifndef DAEMON_BPF_IRQ_RECORDS_H_
#define DAEMON_BPF_IRQ_RECORDS_H_

#include <linux/types.h>

#define ACT_MAX_INTERRUPTS 512 /* numbers of both kinds */

/* InterruptBatch.Kind of the stream. */
enum act_irq_kind {
	ACT_IRQ_HARD = 1,
	ACT_IRQ_SOFT = 2,
};

struct act_irq_key {
	__u32 kind; /* enum act_irq_kind */
	__u32 number;
};

/* Sums per CPU since the programs were loaded; the longest times of two epochs. */
struct act_irq_sums {
	__u64 count;
	__u64 total_ns;
	__u64 longest_ns[2]; /* in an odd and in an even epoch */
	__u64 longest_epoch[2];
	__u64 hits; /* of these, those that took the CPU from a recorded thread */
	__u64 hit_ns;
};

#endif /* DAEMON_BPF_IRQ_RECORDS_H_ */

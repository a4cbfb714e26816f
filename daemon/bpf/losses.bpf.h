/* SPDX-License-Identifier: GPL-2.0 */
/* Counts losses in the format of losses.h. Included by each object that has a ring. */
#ifndef DAEMON_BPF_LOSSES_BPF_H_
#define DAEMON_BPF_LOSSES_BPF_H_

#include "daemon/bpf/losses.h"

#define NESTED_MOST 4 /* programs that interrupt each other on a CPU */

__u64 drain_epoch = 1; /* the daemon counts on */

/*
 * Another program may interrupt this one anywhere, and count with a later time, which must not be
 * overwritten.
 */
static __always_inline void note_lost(struct act_losses *losses, __u64 now_ns)
{
	__u64 epoch = *(volatile __u64 *)&drain_epoch;
	__u32 half = epoch & 1;
	__u64 last_ns;
	__u32 i;

	/* Once the loss is counted, the times are those of this epoch in any case. */
	if (losses->epoch[half] < epoch) {
		losses->epoch[half] = epoch;
		losses->first_ns[half] = now_ns;
	}
	if (losses->first_ns[half] > now_ns)
		losses->first_ns[half] = now_ns;
	for (i = 0; i < NESTED_MOST; i++) {
		last_ns = losses->last_ns[half];
		if (last_ns >= now_ns ||
		    __sync_val_compare_and_swap(&losses->last_ns[half], last_ns, now_ns) == last_ns)
			break;
	}
	__sync_fetch_and_add(&losses->count[half], 1);
}

#endif /* DAEMON_BPF_LOSSES_BPF_H_ */

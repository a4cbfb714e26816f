/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * How BPF programs count what they lose, and when. Shared with daemon/sources; the only
 * definition.
 */
#ifndef DAEMON_BPF_LOSSES_H_
#define DAEMON_BPF_LOSSES_H_

#include <linux/types.h>

/*
 * Of one CPU. An epoch ends when the daemon reports losses; those of odd and even ones are apart,
 * since a program that began in one may count in the next. The counts stand before the times, as
 * a copy is made in this order, and a program notes the time before it counts: what a copy counts
 * has its time in it.
 */
struct act_losses {
	__u64 count[2];    /* of all epochs */
	__u64 epoch[2];    /* the latest in which something was lost, from 1 */
	__u64 first_ns[2]; /* of that epoch */
	__u64 last_ns[2];
};

#endif /* DAEMON_BPF_LOSSES_H_ */

/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* How BPF programs count losses and their times. Shared with daemon/sources. */
#ifndef DAEMON_BPF_LOSSES_H_
#define DAEMON_BPF_LOSSES_H_

#include <linux/types.h>

/*
 * The losses of one CPU. An epoch ends when the daemon reports losses. Odd and even epochs have
 * separate fields, since a program that began in one may count in the next. The counts precede the
 * times because a copy is made in this order and a program notes the time before it counts, so a
 * copy contains the time of every loss that it counts.
 */
struct act_losses {
	__u64 count[2];    /* of all epochs */
	__u64 epoch[2];    /* the latest in which something was lost, from 1 */
	__u64 first_ns[2]; /* of that epoch */
	__u64 last_ns[2];
};

#endif /* DAEMON_BPF_LOSSES_H_ */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program on the submission tracepoints of providers, used when all processes are recorded: it
 * reports a process at its first submission. The submissions themselves are read by perf events
 * (daemon/sources/provider/provider_tracepoints.h).
 */
#ifndef DAEMON_BPF_PROVIDER_BPF_H_
#define DAEMON_BPF_PROVIDER_BPF_H_

#include "daemon/bpf/common.bpf.h"

SEC("raw_tp")
int provider_seen(void *ctx)
{
	(void)ctx;
	current_tracked();
	return 0;
}

#endif /* DAEMON_BPF_PROVIDER_BPF_H_ */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program on the submissions that providers name, where all processes are recorded: it reports
 * a process when that submits for the first time. The submissions themselves are read by perf
 * events (daemon/sources/provider_tracepoints.h).
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

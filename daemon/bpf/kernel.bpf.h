/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which threads are recorded, for the programs on the kernel's own tracepoints
 * (sched.bpf.c, irq.bpf.c). Declares the few kernel fields that they read.
 */
#ifndef DAEMON_BPF_KERNEL_BPF_H_
#define DAEMON_BPF_KERNEL_BPF_H_

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "daemon/bpf/records.h"
#include "daemon/bpf/tracked.bpf.h"

struct sched_entity {
	__u64 sum_exec_runtime;
	__u64 nr_migrations;
} __attribute__((preserve_access_index));

struct task_struct {
	int pid;
	int tgid;
	unsigned int __state;
	int on_cpu;
	struct sched_entity se;
	unsigned long nvcsw;
	unsigned long nivcsw;
	unsigned long min_flt;
	unsigned long maj_flt;
} __attribute__((preserve_access_index));

/* Set by the daemon before loading. */
const volatile __u32 self_pid = 0;
const volatile __u8 system_wide = 0;

static __always_inline bool is_recorded(__u32 pid)
{
	if (system_wide)
		return pid != 0 && pid != self_pid;
	return bpf_map_lookup_elem(&tracked, &pid);
}

#endif /* DAEMON_BPF_KERNEL_BPF_H_ */

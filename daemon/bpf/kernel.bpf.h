/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Selects the threads to record, for the programs on the kernel's own tracepoints (sched.bpf.c,
 * irq.bpf.c). Declares the few kernel fields that they read.
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

typedef struct {
	__u32 val;
} __attribute__((preserve_access_index)) kuid_t;

struct cred {
	kuid_t uid;
	kuid_t euid;
} __attribute__((preserve_access_index));

struct task_struct {
	int pid;
	int tgid;
	__u64 start_boottime;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	const struct cred *cred;
	unsigned int __state;
	int on_cpu;
	struct sched_entity se;
	unsigned long nvcsw;
	unsigned long nivcsw;
	unsigned long min_flt;
	unsigned long maj_flt;
} __attribute__((preserve_access_index));

#include "daemon/bpf/numbers.bpf.h"

/* Set by the daemon before loading. */
const volatile __u32 self_pid = 0;
const volatile __u8 system_wide = 0;
const volatile __u32 owner_uid = ACT_ANY_USER;

/* pid is the task's process, which some callers know without reading it. */
static __always_inline bool is_recorded(struct task_struct *task, __u32 pid)
{
	struct act_tracked *entry;

	if (system_wide)
		return pid != 0 && pid != self_pid;
	entry = bpf_map_lookup_elem(&tracked, &pid);
	return is_of_process(entry, task);
}

/* Whether the owner of the recording may see this task: other users' tasks are hidden. */
static __always_inline bool may_be_told(struct task_struct *task)
{
	return owner_uid == ACT_ANY_USER ||
	       (BPF_CORE_READ(task, cred, uid.val) == owner_uid &&
		BPF_CORE_READ(task, cred, euid.val) == owner_uid);
}

#endif /* DAEMON_BPF_KERNEL_BPF_H_ */

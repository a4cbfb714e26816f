/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The map of recorded processes: tracer.bpf.c maintains it, and the daemon shares it with the other
 * objects' programs.
 */
#ifndef DAEMON_BPF_TRACKED_BPF_H_
#define DAEMON_BPF_TRACKED_BPF_H_

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#include "daemon/bpf/records.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ACT_MAX_TRACKED);
	__type(key, __u32);
	__type(value, struct act_tracked);
} tracked SEC(".maps");

/*
 * Whether an entry belongs to this process and not to an earlier one with the same pid. A live
 * process has its pid exclusively. task is a struct task_struct as each object declares it.
 */
#define is_of_process(entry, task)								\
	((entry) && (!(entry)->exited ||							\
		     (entry)->start_ns == BPF_CORE_READ(task, group_leader, start_boottime)))

#endif /* DAEMON_BPF_TRACKED_BPF_H_ */

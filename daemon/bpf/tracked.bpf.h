/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The map of recorded processes: tracer.bpf.c keeps it, the daemon gives it to the other
 * objects' programs as well.
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
 * Whether an entry is this process's, not one's that had its number before. Nobody has the number
 * of a process that lives. task: a struct task_struct as each object declares it.
 */
#define is_of_process(entry, task)								\
	((entry) && (!(entry)->exited ||							\
		     (entry)->start_ns == BPF_CORE_READ(task, group_leader, start_boottime)))

#endif /* DAEMON_BPF_TRACKED_BPF_H_ */

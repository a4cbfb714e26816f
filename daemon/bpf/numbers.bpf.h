/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pids and tids as the daemon sees them: it may run in a container, and uses them in /proc. Include
 * it after the object's own struct task_struct, which needs pid, tgid, group_leader and thread_pid.
 */
#ifndef DAEMON_BPF_NUMBERS_BPF_H_
#define DAEMON_BPF_NUMBERS_BPF_H_

#include <bpf/bpf_core_read.h>

/* Set by the daemon before loading: its pid namespace; 0 = the initial one. */
const volatile __u32 pid_ns = 0;

#define NUMBERS_MAX_LEVELS 32 /* the kernel's MAX_PID_NS_LEVEL, whose first one needs none */

struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct pid_namespace {
	struct ns_common ns;
} __attribute__((preserve_access_index));

struct upid {
	int nr;
	struct pid_namespace *ns;
} __attribute__((preserve_access_index));

struct pid {
	unsigned int level;
	struct upid numbers[1];
} __attribute__((preserve_access_index));

/* Returns 0 if the daemon's namespace does not have the task. */
static __attribute__((noinline)) __u32 number_in_ns(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level), i;
	const char *numbers = (const char *)__builtin_preserve_access_index(&pid->numbers);

	if (!pid)
		return 0;
	for (i = 1; i <= NUMBERS_MAX_LEVELS && i <= level; i++) {
		struct upid *at = (void *)(numbers + i * bpf_core_type_size(struct upid));

		if (BPF_CORE_READ(at, ns, ns.inum) == pid_ns)
			return BPF_CORE_READ(at, nr);
	}
	return 0;
}

static __always_inline __u32 tid_of(struct task_struct *task)
{
	return pid_ns ? number_in_ns(task) : BPF_CORE_READ(task, pid);
}

static __always_inline __u32 tgid_of(struct task_struct *task)
{
	return pid_ns ? number_in_ns(BPF_CORE_READ(task, group_leader)) : BPF_CORE_READ(task, tgid);
}

static __always_inline struct task_struct *current_task(void)
{
	return (struct task_struct *)bpf_get_current_task();
}

/* The current process' pid in the upper half, the thread's tid in the lower. */
static __always_inline __u64 current_id(void)
{
	if (!pid_ns)
		return bpf_get_current_pid_tgid();
	return (__u64)tgid_of(current_task()) << 32 | tid_of(current_task());
}

#endif /* DAEMON_BPF_NUMBERS_BPF_H_ */

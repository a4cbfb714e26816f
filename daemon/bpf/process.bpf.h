/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs that follow the tree of recorded processes: a child of a tracked
 * process is tracked from its first instruction on.
 */
#ifndef DAEMON_BPF_PROCESS_BPF_H_
#define DAEMON_BPF_PROCESS_BPF_H_

#include "daemon/bpf/common.bpf.h"
#include "daemon/bpf/library.bpf.h"

/* (parent, child) */
SEC("raw_tp/sched_process_fork")
int process_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0];
	struct task_struct *child = (void *)ctx->args[1];
	__u32 parent_pid = tgid_of(parent);
	__u32 pid = tgid_of(child);
	struct act_tracked *entry = bpf_map_lookup_elem(&tracked, &parent_pid);
	struct act_tracked fresh = {};
	char comm[ACT_COMM_BYTES] = {};

	if (!is_of_process(entry, parent))
		return 0;
	if (pid != parent_pid) {
		fresh.generation = next_generation();
		bpf_map_update_elem(&tracked, &pid, &fresh, BPF_ANY);
	}
	bpf_core_read(comm, sizeof(comm), &child->comm);
	emit_process(pid, tid_of(child), ACT_PROCESS_FORK, parent_pid, comm);
	return 0;
}

/* The caller must not look into a setuid or setgid program, or one with file capabilities. */
static __always_inline int gained_rights(struct task_struct *task, struct linux_binprm *binary)
{
	return BPF_CORE_READ(task, cred, uid.val) != owner_uid ||
	       BPF_CORE_READ(task, cred, euid.val) != owner_uid ||
	       BPF_CORE_READ(task, cred, gid.val) != BPF_CORE_READ(task, cred, egid.val) ||
	       BPF_CORE_READ_BITFIELD_PROBED(binary, secureexec);
}

/* (task, old_pid, bprm) */
SEC("raw_tp/sched_process_exec")
int process_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 pid = current_id() >> 32;
	struct act_tracked *entry = bpf_map_lookup_elem(&tracked, &pid);
	char comm[ACT_COMM_BYTES] = {};

	if (!is_of_process(entry, task))
		return 0;
	bpf_map_delete_elem(&ringed, &pid);
	if (owner_uid != ACT_ANY_USER &&
	    gained_rights(task, (struct linux_binprm *)ctx->args[2])) {
		/*
		 * Sent before the entry is deleted, so that a reader without the entry has the
		 * record.
		 */
		bpf_get_current_comm(comm, sizeof(comm));
		emit_process(pid, pid, ACT_PROCESS_LEFT, 0, comm);
		bpf_map_delete_elem(&tracked, &pid);
		return 0;
	}
	entry->generation = next_generation();
	bpf_get_current_comm(comm, sizeof(comm));
	emit_process(pid, pid, ACT_PROCESS_EXEC, 0, comm);
	return 0;
}

/* Whether the task is in execve(). */
static __always_inline bool executes(struct task_struct *task)
{
	return bpf_core_field_exists(task->in_execve) &&
	       BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/* (task, comm) */
SEC("raw_tp/task_rename")
int process_rename(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 pid = tgid_of(task);
	struct act_tracked *entry = bpf_map_lookup_elem(&tracked, &pid);
	char comm[ACT_COMM_BYTES] = {};

	/* The name of a new program is not reported before it is known that the user may see it. */
	if (!is_of_process(entry, task) || executes(task))
		return 0;
	bpf_probe_read_kernel_str(comm, sizeof(comm), (void *)ctx->args[1]);
	emit_process(pid, tid_of(task), ACT_PROCESS_RENAME, 0, comm);
	return 0;
}

/*
 * (task). The entry of a process is kept and marked, because its files are closed later, by its
 * last thread, which need not be the first one.
 */
SEC("raw_tp/sched_process_exit")
int process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u64 id = current_id();
	__u32 pid = id >> 32;
	struct act_tracked *entry = bpf_map_lookup_elem(&tracked, &pid);
	char comm[ACT_COMM_BYTES] = {};

	if (!is_of_process(entry, task))
		return 0;
	if (!BPF_CORE_READ(task, signal, live.counter)) {
		entry->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
		entry->exited = 1;
		bpf_map_delete_elem(&ringed, &pid);
	}
	bpf_get_current_comm(comm, sizeof(comm));
	emit_process(pid, (__u32)id, ACT_PROCESS_EXIT, 0, comm);
	return 0;
}

#endif /* DAEMON_BPF_PROCESS_BPF_H_ */

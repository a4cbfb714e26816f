/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The program on tracepoints that providers name (docs/providers.md): attached once for each
 * role of each device, with the number of its entry in `roles` as cookie. Where the fields lie
 * is data: the daemon has looked it up in the tracepoint's format.
 */
#ifndef DAEMON_BPF_PROVIDER_BPF_H_
#define DAEMON_BPF_PROVIDER_BPF_H_

#include "daemon/bpf/common.bpf.h"
#include "daemon/bpf/driver.bpf.h"

#define PF_KTHREAD 0x00200000

enum {
	HOST_DOORBELL = 2,
	HOST_COMPLETE = 6,
};

struct provider_key {
	__u64 queue;
	__u64 job;
	__u32 device;
	__u32 reserved;
};

/* A job that is under way: its number in the stream, and who submitted it. */
struct provider_job {
	__u32 number;
	__u32 pid;
	__u32 tid;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ACT_MAX_ROLES);
	__type(key, __u32);
	__type(value, struct act_role);
} roles SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ACT_MAX_PROVIDER_JOBS); /* the daemon sets 1 where there are no roles */
	__type(key, struct provider_key);
	__type(value, struct provider_job);
} provider_jobs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ACT_NUM_PROVIDER_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} provider_counts SEC(".maps");

/* Set by the daemon while both programs are attached. */
__u32 provider_counting = 0;

static __always_inline void count_provider(__u32 which)
{
	__u64 *count = provider_counting ? bpf_map_lookup_elem(&provider_counts, &which) : NULL;

	if (count)
		__sync_fetch_and_add(count, 1);
}

/* The last number that was given to a job, all devices together. */
__u32 provider_last_job = 0;

/* Eight bytes are read and cut: numbers are little-endian, behind a record lies readable memory. */
static __always_inline __u64 read_number(void *ctx, const struct act_place *place)
{
	__u64 value = 0;

	if (!place->mask)
		return 0;
	bpf_probe_read_kernel(&value, sizeof(value), ctx + place->offset);
	return value & place->mask;
}

static __always_inline int text_is(void *ctx, const struct act_condition *condition)
{
	__u64 text[ACT_TEXT_BYTES / 8] = {};
	__u64 wanted[ACT_TEXT_BYTES / 8];
	__u32 offset = condition->place.offset;

	if (condition->place.kind == ACT_PLACE_TEXT_ELSEWHERE) {
		bpf_probe_read_kernel(&offset, sizeof(offset), ctx + condition->place.offset);
		offset &= 0xffff;
	}
	bpf_probe_read_kernel_str(text, sizeof(text), ctx + offset);
	__builtin_memcpy(wanted, condition->text, sizeof(wanted));
	return text[0] == wanted[0] && text[1] == wanted[1];
}

static __always_inline int holds(void *ctx, const struct act_condition *condition)
{
	int same;

	if (condition->place.kind == ACT_PLACE_NUMBER)
		same = read_number(ctx, &condition->place) == condition->number;
	else
		same = text_is(ctx, condition);
	return same != !!condition->unequal;
}

/*
 * Recorded processes, and kernel threads, which work for everyone: write-back and what was put
 * off. Not for a recording that belongs to an ordinary user.
 */
static __always_inline int submitter_wanted(void)
{
	struct task_struct *task;

	if (current_tracked() || system_wide)
		return 1;
	if (owner_uid != ACT_ANY_USER)
		return 0;
	task = (struct task_struct *)bpf_get_current_task();
	return BPF_CORE_READ(task, flags) & PF_KTHREAD;
}

static __always_inline __u64 bytes_of(void *ctx, const struct act_role *role)
{
	__u64 opcode = read_number(ctx, &role->opcode) & 255;

	if (!role->bytes.mask || !(role->bytes_opcodes[opcode >> 6] & 1ULL << (opcode & 63)))
		return 0;
	return (read_number(ctx, &role->bytes) + role->bytes_add) * role->bytes_times;
}

static __always_inline int tell(const struct act_role *role, const struct provider_key *key,
				const struct provider_job *job, __u32 kind, __u64 now_ns,
				__u64 arg0, __u64 arg1)
{
	struct act_host *record = reserve(sizeof(*record), ACT_HOP_DRIVER, now_ns);

	if (!record)
		return 0;
	fill_head(&record->h, now_ns, ACT_TRACEPOINT, role->device);
	record->h.pid = job->pid;
	record->h.tid = job->tid;
	record->kind = kind;
	record->context = 0;
	record->queue = key->queue;
	record->job = job->number;
	record->sequence = job->number;
	record->correlation = 0;
	record->arg0 = arg0;
	record->arg1 = arg1;
	submit(record);
	return 1;
}

static __always_inline void on_submit(void *ctx, const struct act_role *role,
				      const struct provider_key *key, __u64 now_ns)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct provider_job job = { .pid = id >> 32, .tid = (__u32)id };

	if (!submitter_wanted())
		return;
	job.number = __sync_fetch_and_add(&provider_last_job, 1) + 1;
	if (bpf_map_update_elem(&provider_jobs, key, &job, BPF_ANY)) {
		count_lost(ACT_HOP_DRIVER, now_ns);
		return;
	}
	if (!tell(role, key, &job, HOST_SUBMIT, now_ns, 1, bytes_of(ctx, role)))
		bpf_map_delete_elem(&provider_jobs, key);
}

/* Attached once to each tracepoint, before the program below. */
SEC("raw_tp")
int provider_fired(void *ctx)
{
	count_provider(ACT_PROVIDER_FIRED);
	return 0;
}

SEC("tracepoint")
int provider_tracepoint(void *ctx)
{
	__u32 index = bpf_get_attach_cookie(ctx);
	struct act_role *role = bpf_map_lookup_elem(&roles, &index);
	__u64 now_ns = bpf_ktime_get_ns();
	struct provider_key key = {};
	struct provider_job *found, job;
	__u32 i;

	if (!role)
		return 0;
	if (role->counted)
		count_provider(ACT_PROVIDER_RAN);
	for (i = 0; i < ACT_MAX_CONDITIONS; i++) {
		if (i >= role->num_conditions)
			break;
		if (!holds(ctx, &role->where[i]))
			return 0;
	}
	key.device = role->device;
	key.queue = read_number(ctx, &role->queue);
	key.job = read_number(ctx, &role->job);
	if (role->role == ACT_ROLE_SUBMIT) {
		on_submit(ctx, role, &key, now_ns);
		return 0;
	}
	/* What was submitted unseen is not told, and not lost. */
	found = bpf_map_lookup_elem(&provider_jobs, &key);
	if (!found)
		return 0;
	job = *found;
	if (role->role == ACT_ROLE_START) {
		tell(role, &key, &job, HOST_DOORBELL, now_ns, 0, 0);
		return 0;
	}
	bpf_map_delete_elem(&provider_jobs, &key);
	tell(role, &key, &job, HOST_COMPLETE, now_ns, read_number(ctx, &role->status), 0);
	return 0;
}

#endif /* DAEMON_BPF_PROVIDER_BPF_H_ */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User stacks of API calls, by frame pointers. The frames of a stack are sent once for each process
 * image, after that only its id.
 */
#ifndef DAEMON_BPF_STACK_BPF_H_
#define DAEMON_BPF_STACK_BPF_H_

#include "daemon/bpf/common.bpf.h"

/* Set by the daemon before loading. */
const volatile __u8 take_stacks = 0;

/* Time that taking stacks cost the calling threads. */
__u64 stack_ns = 0;
__u64 stack_runs = 0;

/* Stacks whose frames have been sent. An evicted one is sent again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ACT_MAX_STACKS); /* the daemon sets 1 where no stacks are wanted */
	__type(key, struct act_stack_key);
	__type(value, __u8);
} stacks SEC(".maps");

static __always_inline __u64 mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/*
 * Returns the id of the thread's current stack after sending its frames, or 0 if it cannot be read.
 * The record is sent before the key is set, as with names. Not inlined, because the addresses take
 * most of a program's 512 bytes of stack. A per-CPU map cannot be used instead, since programs on
 * user probes may be preempted.
 */
static __noinline __u64 find_stack(struct pt_regs *ctx, __u32 generation, __u64 caller)
{
	__u64 address[ACT_MAX_FRAMES];
	__u64 now_ns = bpf_ktime_get_ns();
	struct act_stack_key key = {
		.pid = current_id() >> 32,
		.generation = generation,
	};
	struct act_stack *record;
	__u8 one = 1;
	__u32 i;
	long bytes;

	bytes = bpf_get_stack(ctx, address, sizeof(address), BPF_F_USER_STACK);
	if (bytes <= 0)
		return 0;
	key.id = mix(generation, caller);
	for (i = 0; i < ACT_MAX_FRAMES; i++) {
		if (i * sizeof(__u64) >= (__u64)bytes)
			break;
		key.id = mix(key.id, address[i]);
	}
	key.id |= 1ull << 63; /* never 0 */
	if (bpf_map_lookup_elem(&stacks, &key))
		return key.id;
	record = reserve(sizeof(*record), ACT_HOP_PROCESS, now_ns);
	if (!record)
		return 0;
	fill_head(&record->h, now_ns, ACT_STACK, (__u32)bytes / sizeof(__u64));
	record->id = key.id;
	record->caller = caller;
	__builtin_memcpy(record->address, address, sizeof(address));
	bytes = bpf_get_stack(ctx, record->frame, sizeof(record->frame),
			      BPF_F_USER_STACK | BPF_F_USER_BUILD_ID);
	if (bytes != record->h.extra * sizeof(struct act_frame))
		for (i = 0; i < ACT_MAX_FRAMES; i++)
			record->frame[i].status = 0; /* the addresses alone, then */
	bpf_map_update_elem(&stacks, &key, &one, BPF_ANY);
	submit_now(record); /* what file an address is of is known while the process lives */
	return key.id;
}

static __always_inline void emit_stack(struct pt_regs *ctx, __u32 generation, __u64 caller,
				       __u64 correlation, __u64 now_ns)
{
	struct act_call_stack *record;
	__u64 stack = find_stack(ctx, generation, caller);

	if (!stack) {
		count_lost(ACT_HOP_STACK, now_ns);
		return;
	}
	record = reserve(sizeof(*record), ACT_HOP_STACK, now_ns);
	if (!record)
		return;
	fill_head(&record->h, now_ns, ACT_CALL_STACK, 0);
	record->correlation = correlation;
	record->stack = stack;
	submit(record);
}

/* Records the stack of the call that began at now_ns; caller is as in act_stack. */
static __always_inline void record_stack(struct pt_regs *ctx, __u32 generation, __u64 caller,
					 __u64 correlation, __u64 now_ns)
{
	__u64 begin_ns;

	if (!take_stacks)
		return;
	begin_ns = bpf_ktime_get_ns();
	emit_stack(ctx, generation, caller, correlation, now_ns);
	__sync_fetch_and_add(&stack_ns, bpf_ktime_get_ns() - begin_ns);
	__sync_fetch_and_add(&stack_runs, 1);
}

#endif /* DAEMON_BPF_STACK_BPF_H_ */

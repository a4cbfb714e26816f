/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The programs on functions of libraries that providers name as API calls: attached once to each
 * entry and once to each return, with the function's number in `functions` as cookie.
 */
#ifndef DAEMON_BPF_LIBRARY_BPF_H_
#define DAEMON_BPF_LIBRARY_BPF_H_

#include "daemon/bpf/common.bpf.h"
#include "daemon/bpf/stack.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ACT_MAX_FUNCTIONS);
	__type(key, __u32);
	__type(value, struct act_function);
} functions SEC(".maps");

/* The calls that a thread is in, outermost first. correlation 0: its begin was lost. */
struct thread_calls {
	__u32 depth;
	__u32 reserved;
	__u32 function[ACT_MAX_CALL_DEPTH];
	__u64 correlation[ACT_MAX_CALL_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ACT_MAX_TRACKED); /* the daemon sets 1 where there are no functions */
	__type(key, __u64); /* as bpf_get_current_pid_tgid() */
	__type(value, struct thread_calls);
} calls SEC(".maps");

__u32 last_call = 0;

/* Of a depth below ACT_MAX_CALL_DEPTH, in a way that the verifier of Linux 6.1 follows, too. */
static __always_inline __u64 slot_of(__u64 depth)
{
	barrier_var(depth);
	return depth & (ACT_MAX_CALL_DEPTH - 1);
}

static __always_inline __u64 stack_argument(struct pt_regs *ctx, __u32 place)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)PT_REGS_SP(ctx) + 8 * place);
	return value;
}

/* At a function's entry, by the ABI: the others lie on the stack, on x86 behind the way back. */
static __always_inline __u64 argument(struct pt_regs *ctx, __u32 number)
{
	switch (number) {
	case 1:
		return PT_REGS_PARM1(ctx);
	case 2:
		return PT_REGS_PARM2(ctx);
	case 3:
		return PT_REGS_PARM3(ctx);
	case 4:
		return PT_REGS_PARM4(ctx);
	case 5:
		return PT_REGS_PARM5(ctx);
#if defined(__TARGET_ARCH_x86)
	case 6:
		return ctx->r9;
	default:
		return stack_argument(ctx, number - 6);
#elif defined(__TARGET_ARCH_arm64)
	case 6:
		return ((struct user_pt_regs *)ctx)->regs[5];
	case 7:
		return ((struct user_pt_regs *)ctx)->regs[6];
	case 8:
		return ((struct user_pt_regs *)ctx)->regs[7];
	default:
		return stack_argument(ctx, number - 9);
#else
	default:
		return 0;
#endif
	}
}

/* At a function's entry: where it goes back to. */
static __always_inline __u64 caller_of(struct pt_regs *ctx)
{
#if defined(__TARGET_ARCH_x86)
	__u64 caller = 0;

	bpf_probe_read_user(&caller, sizeof(caller), (void *)PT_REGS_SP(ctx));
	return caller;
#elif defined(__TARGET_ARCH_arm64)
	return ((struct user_pt_regs *)ctx)->regs[30];
#else
	return 0;
#endif
}

static __always_inline __u64 argument_value(struct pt_regs *ctx, const struct act_argument *from)
{
	__u64 value;

	if (!from->first)
		return 0;
	value = argument(ctx, from->first) * from->times;
	return from->second ? value * argument(ctx, from->second) : value;
}

static __always_inline struct thread_calls *calls_of(__u64 thread)
{
	struct thread_calls *found = bpf_map_lookup_elem(&calls, &thread);
	struct thread_calls none = {};

	if (found)
		return found;
	bpf_map_update_elem(&calls, &thread, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&calls, &thread);
}

SEC("kprobe")
int function_begin(struct pt_regs *ctx)
{
	__u32 index = bpf_get_attach_cookie(ctx);
	struct act_function *function = bpf_map_lookup_elem(&functions, &index);
	__u64 now_ns = bpf_ktime_get_ns(), thread = bpf_get_current_pid_tgid();
	struct act_tracked *process = current_tracked();
	__u64 correlation, caller = 0;
	struct act_api_begin *record;
	struct thread_calls *open;
	__u32 depth;

	if (!function || !process)
		return 0;
	open = calls_of(thread);
	if (!open) {
		count_lost(ACT_HOP_API, now_ns);
		return 0;
	}
	depth = open->depth++;
	if (depth >= ACT_MAX_CALL_DEPTH) {
		count_lost(ACT_HOP_API, now_ns);
		return 0;
	}
	open->function[slot_of(depth)] = index;
	open->correlation[slot_of(depth)] = 0;
	record = reserve(sizeof(*record), ACT_HOP_API, now_ns);
	if (!record)
		return 0;
	fill_head(&record->h, now_ns, ACT_API_BEGIN, argument_value(ctx, &function->stream));
	record->name = ACT_FUNCTION_NAMES + index;
	/* The upper half of the numbers: the API library counts from 1. */
	correlation = (thread & ~0xffffffffull) |
		      (__sync_fetch_and_add(&last_call, 1) | 0x80000000);
	record->correlation = correlation;
	record->bytes = argument_value(ctx, &function->bytes);
	open->correlation[slot_of(depth)] = correlation;
	submit(record);
	if (take_stacks)
		caller = caller_of(ctx);
	record_stack(ctx, process->generation, caller, correlation, now_ns);
	return 0;
}

/*
 * The correlation of the call that returns; 0: not recorded. Calls nested in it
 * ended unseen: longjmp().
 */
static __always_inline __u64 take_call(struct thread_calls *open, __u32 index)
{
	__u32 depth, i;

	for (i = 0; i < ACT_MAX_CALL_DEPTH; i++) {
		depth = open->depth;
		if (!depth)
			return 0;
		open->depth = --depth;
		if (depth >= ACT_MAX_CALL_DEPTH)
			return 0;
		if (open->function[slot_of(depth)] == index)
			return open->correlation[slot_of(depth)];
	}
	return 0;
}

SEC("kprobe")
int function_end(struct pt_regs *ctx)
{
	__u64 thread = bpf_get_current_pid_tgid(), correlation, now_ns;
	struct thread_calls *open = bpf_map_lookup_elem(&calls, &thread);
	__u32 index = bpf_get_attach_cookie(ctx);
	struct act_api_end *record;

	if (!open)
		return 0;
	correlation = take_call(open, index);
	if (!open->depth)
		bpf_map_delete_elem(&calls, &thread);
	if (!correlation)
		return 0;
	now_ns = bpf_ktime_get_ns();
	record = reserve(sizeof(*record), ACT_HOP_API, now_ns);
	if (!record)
		return 0;
	fill_head(&record->h, now_ns, ACT_API_END, PT_REGS_RC(ctx));
	record->name = ACT_FUNCTION_NAMES + index;
	record->correlation = correlation;
	submit(record);
	return 0;
}

#endif /* DAEMON_BPF_LIBRARY_BPF_H_ */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs on library functions and system calls that providers declare as API calls. They are
 * attached once to each entry and once to each return, with the function's index in `functions` as
 * cookie.
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

/* The open calls of a thread, outermost first. correlation 0 means that the begin was lost. */
struct thread_calls {
	__u32 depth;
	__u32 reserved;
	__u32 function[ACT_MAX_CALL_DEPTH];
	__u64 correlation[ACT_MAX_CALL_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_calls);
} calls SEC(".maps");

__u32 last_call = 0;
__u64 system_calls = 0; /* begins and ends of them, with those that were lost */

/*
 * The slot of a depth below ACT_MAX_CALL_DEPTH, in a form that the verifier of Linux 6.1 accepts.
 */
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

/*
 * At a function's entry, by the ABI. Later ones are on the stack, on x86 after the return address.
 */
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

/* The return address, at a function's entry. */
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

/* An argument of a system call, from the registers at kernel entry. */
static __always_inline __u64 system_argument(const struct pt_regs *user, __u32 number)
{
	switch (number) {
	case 1:
		return PT_REGS_PARM1_SYSCALL(user);
	case 2:
		return PT_REGS_PARM2_SYSCALL(user);
	case 3:
		return PT_REGS_PARM3_SYSCALL(user);
	case 4:
		return PT_REGS_PARM4_SYSCALL(user);
	case 5:
		return PT_REGS_PARM5_SYSCALL(user);
#if defined(__TARGET_ARCH_x86)
	case 6:
		return user->r9;
#elif defined(__TARGET_ARCH_arm64)
	case 6:
		return ((struct user_pt_regs *)user)->regs[5];
#endif
	default:
		return 0;
	}
}

static __always_inline __u64 argument_of(struct pt_regs *regs, bool system_call, __u32 number)
{
	return system_call ? system_argument(regs, number) : argument(regs, number);
}

static __always_inline __u64 argument_value(struct pt_regs *regs, bool system_call,
					    const struct act_argument *from)
{
	__u64 value;

	if (!from->first)
		return 0;
	value = argument_of(regs, system_call, from->first) * from->times;
	return from->second ? value * argument_of(regs, system_call, from->second) : value;
}

/* regs has the call's arguments. */
static __always_inline int begin_call(void *ctx, struct pt_regs *regs, bool system_call)
{
	__u32 index = bpf_get_attach_cookie(ctx);
	struct act_function *function = bpf_map_lookup_elem(&functions, &index);
	__u64 now_ns = bpf_ktime_get_ns(), thread = current_id();
	struct act_tracked *process = current_tracked();
	__u64 correlation, caller = 0;
	struct act_api_begin *record;
	struct thread_calls *open;
	__u32 depth;

	if (!function || !process)
		return 0;
	open = bpf_task_storage_get(&calls, bpf_get_current_task_btf(), NULL,
				    BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!open) {
		count_lost(ACT_HOP_API, now_ns);
		return 0;
	}
	depth = open->depth++;
	if (depth >= ACT_MAX_CALL_DEPTH) {
		count_lost(ACT_HOP_API, now_ns);
		return 0;
	}
	if (system_call)
		__sync_fetch_and_add(&system_calls, 1);
	open->function[slot_of(depth)] = index;
	open->correlation[slot_of(depth)] = 0;
	record = reserve(sizeof(*record), ACT_HOP_API, now_ns);
	if (!record)
		return 0;
	fill_head(&record->h, now_ns, ACT_API_BEGIN,
		  argument_value(regs, system_call, &function->stream));
	record->name = ACT_FUNCTION_NAMES + index;
	/* Numbers from 2^31 on, because the API library counts from 1. */
	correlation = (thread & ~0xffffffffull) |
		      (__sync_fetch_and_add(&last_call, 1) | 0x80000000);
	record->correlation = correlation;
	record->bytes = argument_value(regs, system_call, &function->bytes);
	open->correlation[slot_of(depth)] = correlation;
	submit(record);
	if (take_stacks && !system_call)
		caller = caller_of(regs);
	record_stack(ctx, process->generation, caller, correlation, now_ns);
	return 0;
}

SEC("kprobe")
int function_begin(struct pt_regs *ctx)
{
	return begin_call(ctx, ctx, false);
}

/* Loaded once for each system call, since an fentry program attaches to one function only. */
SEC("fentry")
int BPF_PROG(system_call_begin, struct pt_regs *user)
{
	return begin_call(ctx, user, true);
}

/*
 * Returns the correlation of the returning call, or 0 if it is not recorded. Calls nested in it
 * ended without a return, by longjmp().
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

static __always_inline int end_call(void *ctx, __s64 result, bool system_call)
{
	struct thread_calls *open =
		bpf_task_storage_get(&calls, bpf_get_current_task_btf(), NULL, 0);
	__u32 index = bpf_get_attach_cookie(ctx);
	struct act_api_end *record;
	__u64 correlation, now_ns;

	if (!open)
		return 0;
	correlation = take_call(open, index);
	if (!correlation)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (system_call) {
		__sync_fetch_and_add(&system_calls, 1);
		/* A result that is not an error may be a length of any size. */
		result = result < 0 ? result : 0;
	}
	record = reserve(sizeof(*record), ACT_HOP_API, now_ns);
	if (!record)
		return 0;
	fill_head(&record->h, now_ns, ACT_API_END, result);
	record->name = ACT_FUNCTION_NAMES + index;
	record->correlation = correlation;
	submit(record);
	return 0;
}

SEC("kprobe")
int function_end(struct pt_regs *ctx)
{
	return end_call(ctx, PT_REGS_RC(ctx), false);
}

SEC("fexit")
int BPF_PROG(system_call_end, struct pt_regs *user, long result)
{
	return end_call(ctx, result, true);
}

#endif /* DAEMON_BPF_LIBRARY_BPF_H_ */

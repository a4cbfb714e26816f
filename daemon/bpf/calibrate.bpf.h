/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs that the daemon runs on itself before a recording, to measure the cost of an event in
 * this kernel: they do the same work as the others and discard the record.
 */
#ifndef DAEMON_BPF_CALIBRATE_BPF_H_
#define DAEMON_BPF_CALIBRATE_BPF_H_

#include "daemon/bpf/common.bpf.h"

#include <bpf/usdt.bpf.h>

/* Counts like `hops`, but is never read. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct act_counts);
} calibrated SEC(".maps");

static __always_inline void calibrate_event(__u64 first, __u64 second)
{
	struct act_counts *counts;
	struct act_host *record;
	__u32 zero = 0;
	__u64 now_ns;

	/*
	 * The daemon is not a tracked process; a failed look-up costs as much as a successful one.
	 */
	if (current_tracked())
		return;
	now_ns = bpf_ktime_get_ns();
	counts = bpf_map_lookup_elem(&calibrated, &zero);
	if (!counts)
		return;
	__sync_fetch_and_add(&counts->seen, 1);
	record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
	if (!record)
		return;
	fill_head(&record->h, now_ns, ACT_HOST, 0);
	record->kind = 0;
	record->context = 0;
	record->queue = 0;
	record->job = 0;
	record->sequence = first;
	record->correlation = second;
	record->arg0 = first;
	record->arg1 = second;
	bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
}

/* On a tracepoint that the daemon can fire itself. */
SEC("raw_tp/task_rename")
int calibrate_tracepoint(struct bpf_raw_tracepoint_args *ctx)
{
	if (current_id() >> 32 == self_pid)
		calibrate_event(ctx->args[0], ctx->args[1]);
	return 0;
}

/* On a probe in the daemon, with the arguments of the begin of a call. */
SEC("usdt")
int BPF_USDT(calibrate_usdt, const char *name, __u64 correlation, __u64 bytes, __u32 stream)
{
	calibrate_event((__u64)name + stream, correlation + bytes);
	return 0;
}

/* On a system call that the daemon makes. */
SEC("fentry")
int BPF_PROG(calibrate_system_call_begin, struct pt_regs *user)
{
	if (current_id() >> 32 == self_pid)
		calibrate_event((__u64)user, 0);
	return 0;
}

SEC("fexit")
int BPF_PROG(calibrate_system_call_end, struct pt_regs *user, long result)
{
	if (current_id() >> 32 == self_pid)
		calibrate_event((__u64)user, result);
	return 0;
}

#endif /* DAEMON_BPF_CALIBRATE_BPF_H_ */

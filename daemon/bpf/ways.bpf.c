/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One body attached to a tracepoint in each possible way, for daemon/testing/tracepoint_cost.cc: a
 * record of the size of a job's.
 */
#include "daemon/bpf/common.bpf.h"

static __always_inline int write_record(__u64 first, __u64 second)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct act_job *record;

	if (bpf_get_current_pid_tgid() >> 32 != self_pid)
		return 0;
	record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
	if (!record)
		return 0;
	fill_head(&record->h, now_ns, ACT_JOB, 0);
	record->where = first;
	record->job_cmds = second;
	record->sequence = first;
	record->correlation = second;
	record->copy_bytes = first;
	record->device_ticks = second;
	record->submit_ns = now_ns;
	record->doorbell_ns = now_ns;
	record->submit_end_ns = now_ns;
	record->irq_ns = now_ns;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("raw_tp/task_rename")
int by_raw_tracepoint(struct bpf_raw_tracepoint_args *ctx)
{
	return write_record(ctx->args[0], ctx->args[1]);
}

SEC("tp_btf/task_rename")
int by_tp_btf(__u64 *ctx)
{
	return write_record(ctx[0], ctx[1]);
}

/* The tracepoint's own arguments follow eight common bytes. */
SEC("tp/task/task_rename")
int by_tracepoint(__u64 *ctx)
{
	return write_record(ctx[1], ctx[2]);
}

char LICENSE[] SEC("license") = "GPL";

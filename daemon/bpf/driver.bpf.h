/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs on the driver's tracepoints (system axl, kmod/axl_trace_*.h).
 *
 * They are raw tracepoints: arguments by position, as in TP_PROTO. All are scalars, so BTF types
 * would have no advantage, and the same programs work whether or not the module has BTF. The kernel
 * refuses to attach a program that reads more arguments than the tracepoint has.
 */
#ifndef DAEMON_BPF_DRIVER_BPF_H_
#define DAEMON_BPF_DRIVER_BPF_H_

#include "daemon/bpf/common.bpf.h"

/* HostBatch.Kind of libtrace/proto/trace.proto. */
enum host_kind {
	HOST_SUBMIT = 1,
	HOST_DMA_MAP = 3,
	HOST_DMA_UNMAP = 4,
	HOST_IRQ = 5,
	HOST_CONTEXT = 9,
	HOST_BUFFER = 10,
	HOST_TIMEOUT = 11,
	HOST_RESET = 12,
	HOST_LINK = 13,
	HOST_SUBMIT_END = 15,
};

#define ARG32(i) ((__u32)ctx->args[i])
#define ARG64(i) ((__u64)ctx->args[i])

static __always_inline __u32 owner_key(__u32 dev, __u32 index, __u32 per_device)
{
	return dev * per_device + index;
}

static __always_inline void set_owner(void *map, __u32 key, __u32 pid)
{
	__u32 *owner = bpf_map_lookup_elem(map, &key);

	if (owner && *owner != pid)
		*owner = pid;
}

/* Notes the owner of a context, for device records without a process number. */
static __always_inline void note_owner(__u32 dev, __u32 context, __u32 pid)
{
	if (dev < ACT_MAX_DEVICES && context < ACT_MAX_CONTEXTS)
		set_owner(&context_owner, owner_key(dev, context, ACT_MAX_CONTEXTS), pid);
}

static __always_inline int owned(void *map, __u32 key)
{
	__u32 *owner = bpf_map_lookup_elem(map, &key);

	return system_wide || (owner && *owner);
}

static __always_inline int device_wanted(__u32 dev)
{
	return dev < ACT_MAX_DEVICES && (device_mask & 1u << dev);
}

static __always_inline struct act_host *host_record(__u64 now_ns, __u32 kind, __u32 dev)
{
	struct act_host *record;

	if (!device_wanted(dev))
		return NULL;
	record = reserve(sizeof(*record), ACT_HOP_DRIVER, now_ns);
	if (!record)
		return NULL;
	fill_head(&record->h, now_ns, ACT_HOST, dev);
	record->kind = kind;
	record->context = 0;
	record->queue = 0;
	record->job = 0;
	record->sequence = 0;
	record->correlation = 0;
	record->arg0 = 0;
	record->arg1 = 0;
	return record;
}

/* For most events: arguments dev, ctx, queue, job, seq, correlation. */
static __always_inline int job_event_at(struct bpf_raw_tracepoint_args *ctx, __u64 time_ns,
					__u32 kind, __u64 arg0, __u64 arg1)
{
	struct act_host *record = host_record(time_ns, kind, ARG32(0));

	if (!record)
		return 0;
	record->context = ARG32(1);
	record->queue = ARG32(2);
	record->job = ARG32(3);
	record->sequence = ARG64(4);
	record->correlation = ARG64(5);
	record->arg0 = arg0;
	record->arg1 = arg1;
	submit(record);
	return 0;
}

static __always_inline int job_event(struct bpf_raw_tracepoint_args *ctx, __u32 kind, __u64 arg0,
				     __u64 arg1)
{
	return job_event_at(ctx, bpf_ktime_get_ns(), kind, arg0, arg1);
}

/*
 * The recorded process that opened the file through which a job or wait came, 0 = none. The driver
 * guarantees the upper half of the id. Jobs come in runs of one client, which need only one
 * look-up.
 */
static __always_inline __u32 client_owner(__u64 correlation)
{
	__u32 client = correlation >> 32;
	__u64 last = last_owner;
	__u32 *owner;

	if (last >> 32 == client)
		return last;
	owner = bpf_map_lookup_elem(&clients, &client);
	if (!owner)
		return 0;
	last_owner = (__u64)client << 32 | *owner;
	return *owner;
}

/* (dev, client, opened) */
SEC("raw_tp/axl_client")
int axl_client(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 client = ARG32(1), pid = current_id() >> 32;

	/* A closed client may still have jobs in flight. */
	if (ARG32(2) && current_tracked())
		bpf_map_update_elem(&clients, &client, &pid, BPF_ANY);
	return 0;
}

/*
 * (where, job_cmds, seq, correlation, tid_pid, copy_bytes, device_ticks, submit_ns, doorbell_ns,
 * submit_end_ns, irq_ns, complete_ns), mostly in interrupt context. It replaces axl_submit,
 * axl_doorbell, axl_submit_end, axl_irq and axl_complete.
 */
SEC("raw_tp/axl_job")
int axl_job(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 dev = (__u16)ARG64(0), context = (__u16)(ARG64(0) >> 16);
	__u32 pid = client_owner(ARG64(3));
	struct act_job *record;

	if (!device_wanted(dev) || (!pid && !system_wide))
		return 0;
	if (pid)
		note_owner(dev, context, pid);
	record = reserve(sizeof(*record), ACT_HOP_DRIVER, ARG64(11));
	if (!record)
		return 0;
	record->h.time_ns = ARG64(11);
	/* The driver's pids are those of the initial pid namespace. */
	record->h.pid = pid_ns ? pid : ARG64(4) >> 32;
	record->h.tid = pid_ns ? 0 : ARG32(4);
	record->h.type = ACT_JOB;
	record->h.cpu = bpf_get_smp_processor_id();
	record->h.extra = 0;
	record->where = ARG64(0);
	record->job_cmds = ARG64(1);
	record->sequence = ARG64(2);
	record->correlation = ARG64(3);
	record->copy_bytes = ARG64(5);
	record->device_ticks = ARG64(6);
	record->submit_ns = ARG64(7);
	record->doorbell_ns = ARG64(8);
	record->submit_end_ns = ARG64(9);
	record->irq_ns = ARG64(10);
	submit(record);
	return 0;
}

/*
 * (dev, ctx, queue, job, seq, correlation, num_cmds, copy_bytes, host_ns, ret): two events, as for
 * an accepted submission.
 */
SEC("raw_tp/axl_refuse")
int axl_refuse(struct bpf_raw_tracepoint_args *ctx)
{
	if (!current_tracked())
		return 0;
	job_event_at(ctx, ARG64(8), HOST_SUBMIT, ARG32(6), ARG64(7));
	return job_event(ctx, HOST_SUBMIT_END, (__s64)(__s32)ARG32(9), 0);
}

/* (dev, queue, vector, causes, host_ns), host_ns: when the handler was entered */
SEC("raw_tp/axl_irq_other")
int axl_irq_other(struct bpf_raw_tracepoint_args *ctx)
{
	struct act_host *record = host_record(ARG64(4), HOST_IRQ, ARG32(0));

	if (!record)
		return 0;
	record->queue = ARG32(1);
	record->arg0 = ARG32(2);
	submit(record);
	return 0;
}

/* (dev, ctx, queue, job, seq, correlation, wait_correlation, status, wait_ns) */
SEC("raw_tp/axl_wake")
int axl_wake(struct bpf_raw_tracepoint_args *ctx)
{
	struct act_wake *record;
	__u64 now_ns;

	if (!device_wanted(ARG32(0)) ||
	    !(system_wide ? current_tracked() != NULL : client_owner(ARG64(6)) != 0))
		return 0;
	now_ns = bpf_ktime_get_ns();
	record = reserve(sizeof(*record), ACT_HOP_DRIVER, now_ns);
	if (!record)
		return 0;
	fill_head(&record->h, now_ns, ACT_WAKE, ARG32(0));
	record->context = ARG32(1);
	record->queue = ARG32(2);
	record->job = ARG32(3);
	record->status = ARG32(7);
	record->sequence = ARG64(4);
	record->correlation = ARG64(5);
	record->wait_correlation = ARG64(6);
	record->wait_ns = ARG64(8);
	submit(record);
	return 0;
}

/* (dev, ctx, handle, bytes, direction, correlation); ctx is 0xffffffff for buffers */
static __always_inline int dma_event(struct bpf_raw_tracepoint_args *ctx, __u32 kind)
{
	struct act_host *record;

	if (!current_tracked())
		return 0;
	record = host_record(bpf_ktime_get_ns(), kind, ARG32(0));
	if (!record)
		return 0;
	record->context = ARG32(1);
	record->correlation = ARG64(5);
	record->arg0 = ARG64(3);
	/* enum dma_data_direction has 0 for both directions, the stream 3. */
	record->arg1 = ARG32(4) ? ARG32(4) : 3;
	submit(record);
	return 0;
}

SEC("raw_tp/axl_dma_map")
int axl_dma_map(struct bpf_raw_tracepoint_args *ctx)
{
	return dma_event(ctx, HOST_DMA_MAP);
}

SEC("raw_tp/axl_dma_unmap")
int axl_dma_unmap(struct bpf_raw_tracepoint_args *ctx)
{
	return dma_event(ctx, HOST_DMA_UNMAP);
}

/* (dev, ctx, created) */
SEC("raw_tp/axl_ctx")
int axl_ctx(struct bpf_raw_tracepoint_args *ctx)
{
	struct act_tracked *process = current_tracked();
	__u32 pid = process ? current_id() >> 32 : 0;
	struct act_host *record;

	/* A released context keeps its owner for jobs that are still in flight. */
	if (ARG32(2))
		note_owner(ARG32(0), ARG32(1), pid);
	if (!process)
		return 0;
	record = host_record(bpf_ktime_get_ns(), HOST_CONTEXT, ARG32(0));
	if (!record)
		return 0;
	record->context = ARG32(1);
	record->arg0 = ARG32(2);
	/* Before the first job the daemon checks which library the process' calls go through. */
	if (ARG32(2) && !bpf_map_lookup_elem(&ringed, &pid))
		submit_now(record);
	else
		submit(record);
	return 0;
}

/* (dev, handle, kind, bytes, created) */
SEC("raw_tp/axl_buf")
int axl_buf(struct bpf_raw_tracepoint_args *ctx)
{
	struct act_host *record;

	if (!current_tracked())
		return 0;
	record = host_record(bpf_ktime_get_ns(), HOST_BUFFER, ARG32(0));
	if (!record)
		return 0;
	record->arg0 = ARG64(3);
	record->arg1 = ARG32(4);
	submit(record);
	return 0;
}

/* The rest concern a context, or (context 0xffffffff) the whole device and all of its users. */
static __always_inline int device_event(__u32 kind, __u32 dev, __u32 context, __u32 queue,
					__u32 job, __u64 arg0, __u64 arg1)
{
	struct act_host *record;

	if (context < ACT_MAX_CONTEXTS &&
	    !owned(&context_owner, owner_key(dev, context, ACT_MAX_CONTEXTS)))
		return 0;
	record = host_record(bpf_ktime_get_ns(), kind, dev);
	if (!record)
		return 0;
	record->context = context;
	record->queue = queue;
	record->job = job;
	record->arg0 = arg0;
	record->arg1 = arg1;
	submit(record);
	return 0;
}

/* (dev, ctx, queue, job) */
SEC("raw_tp/axl_timeout")
int axl_timeout(struct bpf_raw_tracepoint_args *ctx)
{
	return device_event(HOST_TIMEOUT, ARG32(0), ARG32(1), ARG32(2), ARG32(3), 0, 0);
}

/* (dev, ctx) */
SEC("raw_tp/axl_reset")
int axl_reset(struct bpf_raw_tracepoint_args *ctx)
{
	return device_event(HOST_RESET, ARG32(0), ARG32(1), 0, 0, 0, 0);
}

/* (dev, speed, width) */
SEC("raw_tp/axl_link")
int axl_link(struct bpf_raw_tracepoint_args *ctx)
{
	return device_event(HOST_LINK, ARG32(0), ~0u, 0, 0, ARG32(1), ARG32(2));
}

#endif /* DAEMON_BPF_DRIVER_BPF_H_ */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs on the USDT probes of the host API library (provider libaxl).
 */
#ifndef DAEMON_BPF_API_BPF_H_
#define DAEMON_BPF_API_BPF_H_

#include "daemon/bpf/common.bpf.h" /* first: usdt.bpf.h wants the kernel's types */

#include <bpf/usdt.bpf.h>

#include "daemon/bpf/stack.bpf.h"

/*
 * Sends the text at a static string's address once for each process image. The record is sent
 * before the key is set: a second thread may send it twice, but no event can precede its name. If
 * the page is not in memory yet, nothing is sent and the daemon reads the process' memory instead.
 */
static __always_inline void intern(__u32 generation, __u64 address, __u64 now_ns)
{
	struct act_name_key key = {
		.pid = current_id() >> 32,
		.generation = generation,
		.address = address,
	};
	struct act_name *record;
	__u8 one = 1;

	if (bpf_map_lookup_elem(&names, &key))
		return;
	record = reserve(sizeof(*record), ACT_HOP_PROCESS, now_ns);
	if (!record)
		return;
	fill_head(&record->h, now_ns, ACT_NAME, 0);
	record->address = address;
	record->text[0] = 0;
	if (bpf_probe_read_user_str(record->text, sizeof(record->text), (void *)address) > 0)
		bpf_map_update_elem(&names, &key, &one, BPF_ANY);
	submit(record);
}

/* The filter of the programs below. Processes whose events arrive by shared memory are excluded. */
static __always_inline struct act_tracked *probed(void)
{
	struct act_tracked *process = current_tracked();
	__u32 pid = current_id() >> 32;

	if (!process || bpf_map_lookup_elem(&ringed, &pid))
		return NULL;
	return process;
}

static __always_inline int emit_ring(__u16 type, __u64 address, __u64 bytes, __u32 version)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct act_ring *record;

	if (!current_tracked())
		return 0;
	record = reserve(sizeof(*record), ACT_HOP_PROCESS, now_ns);
	if (!record)
		return 0;
	fill_head(&record->h, now_ns, type, version);
	record->address = address;
	record->bytes = bytes;
	submit_now(record);
	return 0;
}

SEC("usdt")
int BPF_USDT(ring_ready, __u64 address, __u64 bytes, __u32 version)
{
	return emit_ring(ACT_RING_READY, address, bytes, version);
}

/* The thread has blocked the signal, and takes it before it continues. */
SEC("usdt")
int BPF_USDT(ring_wanted)
{
	if (current_tracked())
		bpf_send_signal_thread(ACT_ANSWER_SIGNAL);
	return 0;
}

SEC("usdt")
int BPF_USDT(ring_wake)
{
	return emit_ring(ACT_RING_WAKE, 0, 0, 0);
}

SEC("usdt")
int BPF_USDT(api_begin, const char *name, __u64 correlation, __u64 bytes, __u32 stream)
{
	struct act_tracked *process = probed();
	struct act_api_begin *record;
	__u64 now_ns;

	if (!process)
		return 0;
	now_ns = bpf_ktime_get_ns();
	intern(process->generation, (__u64)name, now_ns);
	record = reserve(sizeof(*record), ACT_HOP_API, now_ns);
	if (!record)
		return 0;
	fill_head(&record->h, now_ns, ACT_API_BEGIN, stream);
	record->name = (__u64)name;
	record->correlation = correlation;
	record->bytes = bytes;
	submit(record);
	record_stack(ctx, process->generation, 0, correlation, now_ns);
	return 0;
}

SEC("usdt")
int BPF_USDT(api_end, const char *name, __u64 correlation, int result)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct act_api_end *record;

	if (!probed())
		return 0;
	record = reserve(sizeof(*record), ACT_HOP_API, now_ns);
	if (!record)
		return 0;
	fill_head(&record->h, now_ns, ACT_API_END, result);
	record->name = (__u64)name;
	record->correlation = correlation;
	submit(record);
	return 0;
}

static __always_inline int emit_range(__u16 type, const char *name, __u32 depth)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct act_range *record;

	if (!probed())
		return 0;
	record = reserve(sizeof(*record), ACT_HOP_API, now_ns);
	if (!record)
		return 0;
	fill_head(&record->h, now_ns, type, depth);
	record->address = (__u64)name;
	record->text[0] = 0;
	bpf_probe_read_user_str(record->text, sizeof(record->text), name);
	submit(record);
	return 0;
}

SEC("usdt")
int BPF_USDT(range_push, const char *name, __u32 depth)
{
	return emit_range(ACT_RANGE_PUSH, name, depth);
}

SEC("usdt")
int BPF_USDT(mark, const char *name)
{
	return emit_range(ACT_MARK, name, 0);
}

SEC("usdt")
int BPF_USDT(range_pop, __u32 depth)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct act_range_pop *record;

	if (!probed())
		return 0;
	record = reserve(sizeof(*record), ACT_HOP_API, now_ns);
	if (!record)
		return 0;
	fill_head(&record->h, now_ns, ACT_RANGE_POP, depth);
	submit(record);
	return 0;
}

SEC("usdt")
int BPF_USDT(op_name, __u32 tag, const char *name)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct act_name *record;

	if (!probed())
		return 0;
	record = reserve(sizeof(*record), ACT_HOP_API, now_ns);
	if (!record)
		return 0;
	fill_head(&record->h, now_ns, ACT_OP_NAME, tag);
	record->address = (__u64)name;
	record->text[0] = 0;
	bpf_probe_read_user_str(record->text, sizeof(record->text), name);
	submit(record);
	return 0;
}

#endif /* DAEMON_BPF_API_BPF_H_ */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Generates API call records as fast as a processor can, for daemon/testing/bpf_flood.cc, which
 * runs this with the maps of a recording daemon.
 */
#include "daemon/bpf/common.bpf.h"

struct flood {
	__u64 first; /* correlation id of the first call */
	__u64 name; /* address of its name */
	__u32 calls;
	__u32 reserved;
};

static long one_call(__u32 index, void *context)
{
	const struct flood *flood = context;
	__u64 now_ns = bpf_ktime_get_ns();
	struct act_api_begin *begin;
	struct act_api_end *end;

	begin = reserve(sizeof(*begin), ACT_HOP_API, now_ns);
	if (begin) {
		fill_head(&begin->h, now_ns, ACT_API_BEGIN, 1);
		begin->name = flood->name;
		begin->correlation = flood->first + index;
		begin->bytes = 64;
		submit(begin);
	}
	now_ns = bpf_ktime_get_ns();
	end = reserve(sizeof(*end), ACT_HOP_API, now_ns);
	if (end) {
		fill_head(&end->h, now_ns, ACT_API_END, 0);
		end->name = flood->name;
		end->correlation = flood->first + index;
		submit(end);
	}
	return 0;
}

SEC("syscall")
int run_flood(struct flood *context)
{
	struct flood flood = *context;

	/* The daemon clears `awake` of its own object, not this one's. */
	awake = 0;
	bpf_loop(flood.calls, one_call, &flood, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";

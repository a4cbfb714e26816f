// SPDX-License-Identifier: GPL-2.0
/*
 * Time of interrupt handlers and softirqs, summed by CPU and number, without a record per event.
 * Loads on Linux 6.1 and later.
 */
#include "daemon/bpf/kernel.bpf.h"
#include "daemon/bpf/irq_records.h"

struct irqaction;

/* What a CPU runs at the moment: a softirq, and perhaps a handler that interrupted it. */
struct under_way {
	__u64 hard_ns; /* start time; 0 = none */
	__u64 soft_ns;
	__u64 hard_in_soft_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct under_way);
} now_running SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, ACT_MAX_INTERRUPTS);
	__type(key, struct act_irq_key);
	__type(value, struct act_irq_sums);
} interrupt_sums SEC(".maps");

/*
 * The daemon increments this at each poll, so that each poll has the longest times since the last.
 */
__u64 epoch = 1;
/* Interrupts that did not fit into that map. */
__u64 no_room = 0;

static __always_inline struct under_way *own(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&now_running, &zero);
}

static __always_inline void add(__u32 kind, __u32 number, __u64 ns)
{
	struct act_irq_key key = { kind, number };
	struct act_irq_sums none = {};
	struct act_irq_sums *sums = bpf_map_lookup_elem(&interrupt_sums, &key);
	__u64 now_epoch = epoch;
	__u32 slot = now_epoch & 1;

	if (!sums) {
		bpf_map_update_elem(&interrupt_sums, &key, &none, BPF_NOEXIST);
		sums = bpf_map_lookup_elem(&interrupt_sums, &key);
		if (!sums) {
			__sync_fetch_and_add(&no_room, 1);
			return;
		}
	}
	sums->count++;
	sums->total_ns += ns;
	if (sums->longest_epoch[slot] != now_epoch) {
		sums->longest_epoch[slot] = now_epoch;
		sums->longest_ns[slot] = 0;
	}
	if (ns > sums->longest_ns[slot])
		sums->longest_ns[slot] = ns;
	if (is_recorded(current_task(), current_id() >> 32)) {
		sums->hits++;
		sums->hit_ns += ns;
	}
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry, int irq, struct irqaction *action)
{
	struct under_way *at = own();

	if (at)
		at->hard_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit, int irq, struct irqaction *action, int ret)
{
	struct under_way *at = own();
	__u64 ns;

	if (!at || !at->hard_ns)
		return 0; /* it began before the programs were attached */
	ns = bpf_ktime_get_ns() - at->hard_ns;
	at->hard_ns = 0;
	if (at->soft_ns)
		at->hard_in_soft_ns += ns;
	add(ACT_IRQ_HARD, irq, ns);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int vector)
{
	struct under_way *at = own();

	if (!at)
		return 0;
	at->soft_ns = bpf_ktime_get_ns();
	at->hard_in_soft_ns = 0;
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit, unsigned int vector)
{
	struct under_way *at = own();
	__u64 ns;

	if (!at || !at->soft_ns)
		return 0;
	ns = bpf_ktime_get_ns() - at->soft_ns;
	ns -= at->hard_in_soft_ns < ns ? at->hard_in_soft_ns : ns;
	at->soft_ns = 0;
	add(ACT_IRQ_SOFT, vector, ns);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";

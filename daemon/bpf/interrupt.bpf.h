/* SPDX-License-Identifier: GPL-2.0 */
/* Whether a program runs in an interrupt. */
#ifndef DAEMON_BPF_INTERRUPT_BPF_H_
#define DAEMON_BPF_INTERRUPT_BPF_H_

#include "daemon/bpf/kernel.bpf.h"

/* The variable that contains it differs between kernel versions. */
#ifdef __TARGET_ARCH_x86
struct pcpu_hot {
	int preempt_count;
} __attribute__((preserve_access_index));

extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;

#define SERVING_SOFTIRQ 0x00000100
#define IN_HARDIRQ_OR_NMI 0x00ff0000

static __always_inline bool in_interrupt(void)
{
	int count = 0;

	if (&__preempt_count)
		count = *(const int *)bpf_this_cpu_ptr(&__preempt_count);
	else if (&pcpu_hot)
		count = ((const struct pcpu_hot *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
	return count & (SERVING_SOFTIRQ | IN_HARDIRQ_OR_NMI);
}
#else
static __always_inline bool in_interrupt(void)
{
	return false;
}
#endif

#endif /* DAEMON_BPF_INTERRUPT_BPF_H_ */

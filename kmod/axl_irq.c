// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: interrupts. Vector 1 + q reports completions of queue q, which are taken in the handler
 * since that only touches a few cache lines. Vector 0 reports device events, handled in a thread.
 */
#include <linux/interrupt.h>

#include "axl_completion.h"
#include "axl_driver_ring.h"
#include "axl_entry.h"
#include "axl_trace_device.h"
#include "axl_trace_irq.h"
#include "axl_trace_job.h"
#include "axl_tracing.h"

static __always_inline bool axl_irq_traced(void)
{
	return trace_axl_irq_enabled() || trace_axl_job_enabled() || axl_driver_ring_on();
}

/*
 * The tracepoint is emitted before the completions are taken, because a waiter on another CPU may
 * continue as soon as they are.
 */
irqreturn_t axl_irq_queue(int irq, void *data)
{
	bool traced = axl_irq_traced();
	struct axl_hwq *hwq = data;
	unsigned int done = 0;

	spin_lock(&hwq->lock);
	if (traced) {
		hwq->irq_ready = hwq->q ? axl_queue_peek(hwq->q) : 0;
		/*
		 * Stamped after the peek: while this handler waited for the lock, jobs may have
		 * been submitted and completed, which would otherwise seem to precede it.
		 */
		hwq->irq_stamp = axl_stamp();
		if (trace_axl_irq_enabled())
			trace_axl_irq(hwq->axl->index, hwq->id, AXL_MSIX_QUEUE(hwq->id),
				      hwq->irq_ready,
				      axl_anchor_after_ns(&hwq->anchor, hwq->irq_stamp));
	}
	if (hwq->q)
		done = axl_queue_reap(hwq->q);
	hwq->irq_stamp = 0;
	hwq->irq_ready = 0;
	spin_unlock(&hwq->lock);
	if (!done) {
		axl_count(hwq->axl, AXL_STAT_SPURIOUS_IRQS);
		if (trace_axl_irq_other_enabled())
			trace_axl_irq_other(hwq->axl->index, hwq->id, AXL_MSIX_QUEUE(hwq->id), 0,
					    ktime_get_mono_fast_ns());
	}
	return IRQ_HANDLED;
}

static void axl_irq_link(struct axl_device *axl)
{
	u16 status = 0;

	pcie_capability_read_word(axl->pdev, PCI_EXP_LNKSTA, &status);
	axl_count(axl, AXL_STAT_LINK_CHANGES);
	trace_axl_link(axl->index, status & PCI_EXP_LNKSTA_CLS,
		       (status & PCI_EXP_LNKSTA_NLW) >> PCI_EXP_LNKSTA_NLW_SHIFT);
	axl_uevent(axl, "link");
}

irqreturn_t axl_irq_device(int irq, void *data)
{
	bool traced = trace_axl_irq_enabled() || trace_axl_irq_other_enabled();
	u64 host_ns = traced ? ktime_get_mono_fast_ns() : 0;
	struct axl_device *axl = data;
	u32 causes = axl_read32(axl, AXL_REG_INT_STATUS);
	u32 i;

	if (!axl_accessible(axl))
		return IRQ_HANDLED;
	causes &= AXL_INT_ALL;
	axl_write32(axl, AXL_REG_INT_STATUS, causes);
	trace_axl_irq(axl->index, ~0u, AXL_MSIX_DEVICE, 0, host_ns);
	trace_axl_irq_other(axl->index, ~0u, AXL_MSIX_DEVICE, causes, host_ns);

	if (causes & AXL_INT_CTX_ERROR) {
		for (i = 0; i < axl->num_contexts; i++)
			if (axl_read32(axl, AXL_REG_CTX_STATUS(i)) & AXL_CTX_HALTED)
				axl_ctx_error(axl, i);
	}
	if (causes & AXL_INT_TRACE) {
		for (i = 0; i < axl->num_rings; i++)
			wake_up_all(&axl->rings[i].wait);
		axl_cmd_trace_drain(axl);
	}
	if (causes & AXL_INT_LINK)
		axl_irq_link(axl);
	if (causes & AXL_INT_THROTTLE) {
		axl_count(axl, AXL_STAT_THROTTLE_EVENTS);
		axl_uevent(axl, "throttle");
	}
	if (causes & AXL_INT_ECC)
		axl_count(axl, AXL_STAT_ECC_EVENTS);
	return IRQ_HANDLED;
}

/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The files in /sys/class/axl/axlN/stats: what the driver counted since probe.
 *
 * X(NAME, name, text); a new one goes at the end.
 */
#ifndef _UAPI_AXL_STATS_H
#define _UAPI_AXL_STATS_H

#define AXL_STATS(X) \
	X(BAD_COMPLETIONS, bad_completions, "completion entries that made no sense") \
	X(POLLED_COMPLETIONS, polled_completions, "found by polling: interrupt lost or late") \
	X(SPURIOUS_IRQS, spurious_interrupts, "queue interrupts with nothing to do") \
	X(FAILED_JOBS, failed_jobs, "jobs that ended with an error of their own") \
	X(CANCELED_JOBS, canceled_jobs, "jobs dropped with their context") \
	X(TIMEOUTS, job_timeouts, "jobs that made no progress")	\
	X(CTX_RESETS, context_resets, "contexts reset after an error") \
	X(DEVICE_RESETS, device_resets, "resets of the whole device")	\
	X(LINK_CHANGES, link_changes, "changes of link speed or width") \
	X(ECC_EVENTS, ecc_events, "corrected memory errors reported")	\
	X(THROTTLE_EVENTS, throttle_events, "throttling began or ended") \
	X(BUS_ERRORS, bus_errors, "PCIe errors handled with a reset") \
	X(TRACE_LOST, trace_lost, "records lost to the driver's own reader of the trace ring") \
	X(BAD_TRACE_INDEXES, bad_trace_indexes, "times that ring's index made no sense") \
	X(QUOTA_REFUSALS, quota_refusals, "refused: a user, or all together, have what they may")

#define AXL_STAT_ENUM_(NAME, name, text) AXL_STAT_##NAME,
enum axl_stat { AXL_STATS(AXL_STAT_ENUM_) AXL_NUM_STATS };

/* AXL_STATS(AXL_STAT_NAME_) is a list of strings. */
#define AXL_STAT_NAME_(NAME, name, text) #name,

#endif /* _UAPI_AXL_STATS_H */

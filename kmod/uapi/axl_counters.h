/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The axl counter table: one line a counter, in register order.
 *
 * The device numbers its counter registers by this table, the driver names its PMU events after it,
 * and the daemon describes the counters in the stream from it. A new counter goes at the end;
 * numbers are never reused.
 *
 * X(NAME, name, unit, scope, text)
 *   unit  ticks | bytes | count
 *   scope DEV = device only, CTX = kept for each context as well
 *
 * Conservation laws, exact at every snapshot:
 *   for each engine: busy + idle + stall_* = elapsed_ticks
 *   for each CTX counter: sum over contexts = device value
 *   pcie_rx_payload_bytes = h2d_bytes + desc and list fetches + consumer reads
 *   pcie_tx_payload_bytes = d2h_bytes + completions + trace records + index writes
 *   dram_row_hits + dram_row_misses + dram_row_conflicts = dram_bursts
 *   trace_records + trace_lost = records made
 */
#ifndef _UAPI_AXL_COUNTERS_H
#define _UAPI_AXL_COUNTERS_H

#define AXL_ENGINE_COUNTERS(X, ENG, eng, text) \
	X(ENG##_BUSY, eng##_busy, ticks, CTX, text " computing or moving data") \
	X(ENG##_STALL_SEMAPHORE, eng##_stall_semaphore, ticks, CTX, \
	  text " waiting for a semaphore") \
	X(ENG##_STALL_MEMORY, eng##_stall_memory, ticks, CTX, text " waiting for device memory") \
	X(ENG##_STALL_PCIE, eng##_stall_pcie, ticks, CTX, text " waiting for the PCIe link") \
	X(ENG##_STALL_TAG, eng##_stall_tag, ticks, CTX, text " waiting for a free PCIe tag") \
	X(ENG##_STALL_DISPATCH, eng##_stall_dispatch, ticks, CTX, text " starting commands") \
	X(ENG##_STALL_THROTTLE, eng##_stall_throttle, ticks, CTX, text " throttled") \
	X(ENG##_IDLE, eng##_idle, ticks, DEV, text " without a command") \
	X(ENG##_COMMANDS, eng##_commands, count, CTX, text " commands retired")

#define AXL_COUNTERS(X) \
	AXL_ENGINE_COUNTERS(X, H2D, h2d, "host-to-device DMA") \
	AXL_ENGINE_COUNTERS(X, D2H, d2h, "device-to-host DMA") \
	AXL_ENGINE_COUNTERS(X, MATRIX, matrix, "matrix engine") \
	AXL_ENGINE_COUNTERS(X, VECTOR, vector, "vector engine") \
	X(ELAPSED, elapsed_ticks, ticks, DEV, "device clock ticks since reset") \
	X(JOBS, jobs, count, CTX, "completion entries written") \
	X(DOORBELLS, doorbells, count, CTX, "doorbell writes accepted") \
	X(DESC_FETCHED, descriptors_fetched, count, CTX, "submission ring entries fetched") \
	X(INTERRUPTS, interrupts, count, DEV, "MSI-X messages sent") \
	X(H2D_BYTES, h2d_bytes, bytes, CTX, "bytes copied from host to device") \
	X(D2H_BYTES, d2h_bytes, bytes, CTX, "bytes copied from device to host") \
	X(MATRIX_MACS, matrix_macs, count, CTX, "multiply-accumulates done") \
	X(VECTOR_ELEMENTS, vector_elements, count, CTX, "vector elements produced") \
	X(DRAM_READ_BYTES, dram_read_bytes, bytes, DEV, "DRAM bytes fetched in whole bursts") \
	X(DRAM_WRITE_BYTES, dram_write_bytes, bytes, DEV, "DRAM bytes written in whole bursts") \
	X(DRAM_USEFUL_BYTES, dram_useful_bytes, bytes, DEV, "DRAM bytes that commands asked for") \
	X(DRAM_BURSTS, dram_bursts, count, DEV, "DRAM bursts") \
	X(DRAM_ROW_HITS, dram_row_hits, count, DEV, "bursts that found their row open") \
	X(DRAM_ROW_MISSES, dram_row_misses, count, DEV, "bursts that found the bank closed") \
	X(DRAM_ROW_CONFLICTS, dram_row_conflicts, count, DEV, \
	  "bursts that found another row open") \
	X(SCRATCH_BYTES, scratch_bytes, bytes, DEV, "scratchpad bytes read or written") \
	X(PCIE_RX_PAYLOAD, pcie_rx_payload_bytes, bytes, DEV, \
	  "payload the device received by its own reads") \
	X(PCIE_TX_PAYLOAD, pcie_tx_payload_bytes, bytes, DEV, \
	  "payload the device sent by its own writes") \
	X(PCIE_RX_WIRE, pcie_rx_wire_bytes, bytes, DEV, \
	  "received bytes with TLP and DLLP overhead") \
	X(PCIE_TX_WIRE, pcie_tx_wire_bytes, bytes, DEV, "sent bytes with TLP and DLLP overhead") \
	X(PCIE_TX_MRD, pcie_tx_mrd_tlps, count, DEV, "memory read requests sent") \
	X(PCIE_RX_CPLD, pcie_rx_cpld_tlps, count, DEV, "completions with data received") \
	X(PCIE_TX_MWR, pcie_tx_mwr_tlps, count, DEV, "memory writes sent, MSI-X included") \
	X(PCIE_TAG_STALL, pcie_tag_stall_ticks, ticks, DEV, "time a read waited for a tag") \
	X(TRACE_RECORDS, trace_records, count, DEV, "trace records written, all rings") \
	X(TRACE_LOST, trace_lost, count, DEV, "trace records dropped, all rings") \
	X(SEM_SIGNALS, semaphore_signals, count, CTX, "semaphore updates") \
	X(ECC_CORRECTED, ecc_corrected, count, DEV, "corrected memory errors") \
	X(LINK_RETRAINS, link_retrains, count, DEV, "link speed or width changes")

#define AXL_COUNTER_ENUM_(NAME, name, unit, scope, text) AXL_CTR_##NAME,
enum axl_counter { AXL_COUNTERS(AXL_COUNTER_ENUM_) AXL_NUM_COUNTERS };

/* AXL_COUNTERS(AXL_COUNTER_NAME_) is a list of strings in register order. */
#define AXL_COUNTER_NAME_(NAME, name, unit, scope, text) #name,
#define AXL_COUNTER_UNIT_(NAME, name, unit, scope, text) #unit,

/* The first counter of an engine's block, and the order within the block. */
#define AXL_CTR_ENGINE(e)	((e) * 9)

#endif /* _UAPI_AXL_COUNTERS_H */

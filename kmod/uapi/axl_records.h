/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The axl hardware contract, continued: the trace ring and its records. axl_hw.h includes this
 * file.
 */
#ifndef _UAPI_AXL_RECORDS_H
#define _UAPI_AXL_RECORDS_H

#ifndef _UAPI_AXL_HW_H
#error "include axl_hw.h, of which this is a part"
#endif

#define AXL_TRACE_MAGIC		0x54584c41	/* "ALXT" in memory order */
#define AXL_TRACE_HEADER_BYTES	4096
#define AXL_TRACE_RECORD_BYTES	128

/*
 * First page of a ring; records follow. Indexes are free-running record counts.
 * The device writes produced and lost by DMA and reads consumed; the consumer
 * (user space, mapped) writes consumed only. Neither trusts the other's value.
 */
struct axl_trace_header {
	__u32 magic;
	__u32 record_bytes;
	__u32 log2_records;
	__u32 ring;
	__u32 stamp_khz;	/* of the driver's own ring, see struct axl_rec_host_job */
	__u32 reserved;
	__u64 reserved0[5];
	__u64 produced;		/* device */
	__u64 lost;		/* device: exact number of records dropped */
	__u64 reserved1[6];
	__u64 consumed;		/* consumer */
	__u64 reserved2[7];
} __attribute__((aligned(8)));	/* for 32-bit programs, whose __u64 has 4: indexes are atomic */

enum axl_rec_type {
	AXL_REC_CMD = 1,	/* a command retired */
	AXL_REC_JOB = 2,	/* a completion entry was written */
	AXL_REC_DOORBELL = 3,
	AXL_REC_COUNTERS = 4,	/* part of a periodic snapshot */
	AXL_REC_LOSS = 5,	/* records were dropped before this one */
	AXL_REC_EVENT = 6,	/* link, clock, throttle, error */
};

#define AXL_REC_CLASS(type)	(1u << (type))
#define AXL_REC_CLASSES_ALL	0x7eu

/* Why an engine was not computing or moving data while it held a command. */
enum axl_stall {
	AXL_STALL_SEMAPHORE = 0,	/* at the head of its queue, waiting for others */
	AXL_STALL_MEMORY = 1,	/* DRAM rows, banks or bandwidth */
	AXL_STALL_PCIE = 2,	/* link busy or latency exposed */
	AXL_STALL_TAG = 3,	/* no free PCIe tag */
	AXL_STALL_DISPATCH = 4,	/* fixed cost of starting a command */
	AXL_STALL_THROTTLE = 5,	/* power or thermal limit */
	AXL_NUM_STALLS = 6,
};

/* The resource that determined a command's run time. */
enum axl_limiter {
	AXL_LIMIT_COMPUTE = 0,
	AXL_LIMIT_SEMAPHORE = 1,
	AXL_LIMIT_MEMORY = 2,
	AXL_LIMIT_PCIE = 3,
	AXL_LIMIT_TAG = 4,
	AXL_LIMIT_DISPATCH = 5,
	AXL_LIMIT_THROTTLE = 6,
};

struct axl_rec_head {
	__u8 type;		/* enum axl_rec_type */
	__u8 engine;		/* enum axl_engine, or 0xff */
	__u8 queue;		/* or 0xff */
	__u8 context;		/* or 0xff */
	__u32 sequence;		/* one for each record of the ring, dropped ones included */
	__u64 time;		/* ticks when the record was made */
};

/*
 * The life of a command: fetched from the ring, at the head of its engine's queue, semaphores
 * satisfied (start), done (end). head <= start <= end. The semaphore stall is start - head; the
 * other stalls are within [start, end], and busy = end - start - their sum.
 */
struct axl_rec_cmd {
	struct axl_rec_head h;
	__u64 fetched;
	__u64 head;
	__u64 start;
	__u64 end;
	__u64 correlation;
	__u32 job;
	__u16 index;
	__u8 opcode;
	__u8 status;		/* enum axl_status */
	__u32 tag;
	__u32 stall[AXL_NUM_STALLS];	/* ticks */
	__u32 limiter;		/* enum axl_limiter: set the pace for most of end - head */
	__u64 work;		/* MACs (matrix), elements (vector), TLPs (DMA) */
	__u64 bytes;		/* payload moved (DMA) or DRAM bytes asked for (compute) */
	__u64 dram_bytes;	/* DRAM bytes fetched or written in whole bursts */
	__u32 row_hits;		/* DRAM bursts that found their row open */
	__u32 row_misses;	/* ... that did not */
};

/* A job's life on the device's side of the bus. */
struct axl_rec_job {
	struct axl_rec_head h;
	__u64 doorbell;		/* doorbell write that covered its last entry */
	__u64 fetched;		/* first entry fetched */
	__u64 first_start;
	__u64 last_end;
	__u64 completion;	/* completion entry written */
	__u64 irq;		/* MSI-X message sent, 0 = not requested, or lost */
	__u64 correlation;
	__u32 job;
	__u32 commands;
	__u16 status;
	__u16 reserved0;
	__u32 reserved1;
	__u64 reserved2[5];
};

struct axl_rec_doorbell {
	struct axl_rec_head h;	/* h.time: the write arrived */
	__u32 tail;
	__u32 previous_tail;
	__u64 reserved[13];
};

#define AXL_REC_COUNTERS_PER	12
struct axl_rec_counters {
	struct axl_rec_head h;	/* h.time: the snapshot's instant */
	__u16 first;		/* counter number of value[0] */
	__u16 count;
	__u32 sample;		/* number of the snapshot */
	__u64 value[AXL_REC_COUNTERS_PER];
	__u64 reserved;
};

struct axl_rec_loss {
	struct axl_rec_head h;
	__u64 lost;		/* records */
	__u64 first_time;	/* ticks of the first and the last dropped one */
	__u64 last_time;
	__u64 reserved[11];
};

enum axl_event {
	AXL_EV_LINK = 1,	/* arg[0] speed (generation), arg[1] width */
	AXL_EV_CLOCK = 2,	/* arg[0] frequency in mHz; a jump: arg[1] ticks before it */
	AXL_EV_THROTTLE = 3,	/* arg[0] 1 = began, 0 = ended; arg[1] permille of full rate */
	AXL_EV_ECC = 4,		/* arg[0] device address, arg[1] 1 = uncorrectable */
	AXL_EV_CTX_ERROR = 5,	/* arg[0] enum axl_status, arg[1] job, arg[2] index */
	AXL_EV_RESET = 6,
};

struct axl_rec_event {
	struct axl_rec_head h;
	__u32 event;		/* enum axl_event */
	__u32 reserved0;
	__u64 arg[3];
	__u64 reserved1[10];
};

union axl_record {
	struct axl_rec_head h;
	struct axl_rec_cmd cmd;
	struct axl_rec_job job;
	struct axl_rec_doorbell doorbell;
	struct axl_rec_counters counters;
	struct axl_rec_loss loss;
	struct axl_rec_event event;
	__u8 bytes[AXL_TRACE_RECORD_BYTES];
};

AXL_STATIC_ASSERT(sizeof(struct axl_trace_header) == 192, "axl_trace_header");
AXL_STATIC_ASSERT(sizeof(struct axl_rec_head) == 16, "axl_rec_head");
AXL_STATIC_ASSERT(sizeof(struct axl_rec_cmd) == 128, "axl_rec_cmd");
AXL_STATIC_ASSERT(sizeof(struct axl_rec_job) == 128, "axl_rec_job");
AXL_STATIC_ASSERT(sizeof(struct axl_rec_doorbell) == 128, "axl_rec_doorbell");
AXL_STATIC_ASSERT(sizeof(struct axl_rec_counters) == 128, "axl_rec_counters");
AXL_STATIC_ASSERT(sizeof(struct axl_rec_loss) == 128, "axl_rec_loss");
AXL_STATIC_ASSERT(sizeof(struct axl_rec_event) == 128, "axl_rec_event");
AXL_STATIC_ASSERT(sizeof(union axl_record) == AXL_TRACE_RECORD_BYTES, "axl_record");

#endif /* _UAPI_AXL_RECORDS_H */

// SPDX-License-Identifier: Apache-2.0
/*
 * Compiles the driver's own ring, clock and memory arithmetic for user space: indexes that wrap,
 * clocks of every width, conversions against 128 bits, device memory against a plain map.
 * arithmetic_test.sh builds it.
 */
#include "tests/driver/harness.h"
#include "tests/driver/kernel.h"

#include "kmod/axl_clock.c"
#include "kmod/axl_complete.c"
#include "kmod/axl_queue.c"
#include "kmod/axl_space.c"
#include "kmod/axl_stamp.c"

static int ctx_errors_;

void axl_ctx_error(struct axl_device *axl, u32 hw)
{
	(void)axl, (void)hw;
	ctx_errors_++;
}

int axl_block_alloc(struct axl_device *axl, struct axl_share *share, struct axl_block *block,
		    u64 bytes)
{
	(void)axl, (void)share;
	block->at = calloc(1, bytes);
	block->dma = (uintptr_t)block->at;
	return block->at ? 0 : -ENOMEM;
}

void axl_block_free(struct axl_block *block)
{
	free(block->at);
	block->at = NULL;
}

void axl_fences_signal(struct axl_queue *q) { (void)q; }
u32 axl_read32(struct axl_device *axl, u32 reg) { (void)axl, (void)reg; return 0; }
u64 axl_read64(struct axl_device *axl, u32 reg) { (void)axl, (void)reg; return 0; }
void axl_write64(struct axl_device *axl, u32 reg, u64 v) { (void)axl, (void)reg, (void)v; }

static u64 random_(void)
{
	static u64 state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}

static u64 below(u64 n) { return random_() % n; }

/* ---- rings ---- */

struct start {
	const char *name;
	u32 at;			/* of all free-running indexes */
};

#define STARTS \
	{ "zero", 0 }, { "in_a_lap", 777 }, { "before_a_lap", AXL_CQ_ENTRIES - 3 }, \
	{ "before_the_wrap", -1500u }, { "at_the_wrap", -1u }

/* A queue on a device that writes what the test wants. */
struct rig {
	struct axl_device axl;
	struct axl_hwq hwq;
	struct axl_ctx ctx;
	struct axl_queue *q;
	u32 tail;		/* of the completion ring, the device's */
};

static char registers_[AXL_REGS_BYTES];

static u16 phase_of(u32 at) { return ~(at >> AXL_CQ_LOG2) & 1; }

static struct rig *rig_new(u32 at)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	u32 i;

	rig->axl.regs = registers_;
	rig->axl.pdev = calloc(1, sizeof(*rig->axl.pdev));
	rig->ctx.axl = &rig->axl;
	rig->hwq.axl = &rig->axl;
	rig->hwq.id = 3;
	rig->q = axl_queue_create(&rig->ctx);
	rig->q->hwq = &rig->hwq;
	rig->q->sq_tail = rig->q->sq_head = rig->q->cq_head = rig->tail = at;
	/* Entries of the previous lap, and of this one up to here. */
	for (i = 0; i < AXL_CQ_ENTRIES; i++) {
		bool newer = i < (at & (AXL_CQ_ENTRIES - 1));

		rig->q->cq[i].phase = newer ? phase_of(at) : !phase_of(at);
	}
	ctx_errors_ = 0;
	return rig;
}

static void rig_submit(struct rig *rig, u32 commands)
{
	struct axl_queue *q = rig->q;
	u64 seq = q->submitted + 1;

	q->sq_tail += commands;
	q->jobs[seq & (AXL_SQ_ENTRIES - 1)] = (struct axl_job){
		.seq = seq, .job = (u32)seq + 1000, .correlation = seq * 7, .sq_end = q->sq_tail };
	q->submitted = seq;
}

static struct axl_cqe rig_entry(const struct rig *rig, u64 seq)
{
	const struct axl_job *job = &rig->q->jobs[seq & (AXL_SQ_ENTRIES - 1)];

	return (struct axl_cqe){ .queue = 3, .job = job->job, .correlation = job->correlation,
				 .sq_head = job->sq_end, .time = seq + 5 };
}

static void rig_complete(struct rig *rig, struct axl_cqe cqe)
{
	cqe.phase = phase_of(rig->tail);
	rig->q->cq[rig->tail++ & (AXL_CQ_ENTRIES - 1)] = cqe;
}

TEST_VARIANTS(completions_are_taken_as_they_come, struct start, STARTS)
{
	struct rig *rig = rig_new(variant->at);
	struct axl_queue *q = rig->q;
	u64 completed = 0, turn;

	EXPECT_EQ(axl_queue_peek(q), 0);
	for (turn = 0; turn < 20000; turn++) {
		u32 commands = 1 + (u32)below(40), taken;

		if (AXL_SQ_ENTRIES - (q->sq_tail - q->sq_head) >= commands)
			rig_submit(rig, commands);
		while (completed < q->submitted && below(2))
			rig_complete(rig, rig_entry(rig, ++completed));
		if (below(3))
			continue;
		taken = (u32)(completed - q->completed);
		EXPECT_EQ(axl_queue_peek(q), taken);
		EXPECT_EQ(axl_queue_reap(q), taken);
		EXPECT_EQ(q->completed, completed);
		EXPECT_EQ(q->cq_head, rig->tail);
		if (!taken)
			continue;
		EXPECT_EQ(written_, rig->tail);
		EXPECT(written_at_ == registers_ + AXL_REG_Q_CQ_HEAD(3));
		EXPECT_EQ(q->sq_head, q->jobs[completed & (AXL_SQ_ENTRIES - 1)].sq_end);
		EXPECT_EQ(q->jobs[completed & (AXL_SQ_ENTRIES - 1)].device_ticks, completed + 5);
	}
	EXPECT(completed > 5000 && !q->dead && !ctx_errors_ && !q->failed);
	EXPECT_EQ(rig->axl.stats[AXL_STAT_BAD_COMPLETIONS].counter, 0);
}

TEST_VARIANTS(a_full_ring_is_not_an_empty_one, struct start, STARTS)
{
	struct rig *rig = rig_new(variant->at);
	u64 lap, seq = 0;

	for (lap = 0; lap < 3; lap++) {
		while (rig->q->submitted < (lap + 1) * AXL_SQ_ENTRIES)
			rig_submit(rig, 1);
		while (seq < rig->q->submitted)
			rig_complete(rig, rig_entry(rig, ++seq));
		EXPECT_EQ(axl_queue_peek(rig->q), AXL_CQ_ENTRIES);
		EXPECT_EQ(axl_queue_reap(rig->q), AXL_CQ_ENTRIES);
		EXPECT_EQ(axl_queue_reap(rig->q), 0);
		EXPECT_EQ(rig->q->completed, seq);
	}
}

TEST_VARIANTS(no_spoiled_entry_is_believed, struct start, STARTS)
{
	enum { QUEUE, JOB, NEWER, CORRELATION, STATUS, HEAD_SHORT, HEAD_BEYOND, HEAD_FAR, KINDS };
	int kind;

	for (kind = 0; kind < KINDS; kind++) {
		struct rig *rig = rig_new(variant->at);
		struct axl_queue *q = rig->q;
		struct axl_cqe cqe;
		u32 i;

		for (i = 0; i < 4; i++)
			rig_submit(rig, 10);
		rig_complete(rig, rig_entry(rig, 1));
		EXPECT_EQ(axl_queue_reap(q), 1);
		cqe = rig_entry(rig, 2);
		switch (kind) {
		case QUEUE: cqe.queue = 4; break;
		case JOB: cqe.job ^= 0xdeadbeef; break;
		case NEWER: cqe = rig_entry(rig, 3); break;
		case CORRELATION: cqe.correlation++; break;
		case STATUS: cqe.status = AXL_ST_CANCELED + 1; break;
		case HEAD_SHORT: cqe.sq_head--; break;
		case HEAD_BEYOND: cqe.sq_head = q->sq_tail + 1; break;
		case HEAD_FAR: cqe.sq_head += 1u << 31; break;
		}
		rig_complete(rig, cqe);
		rig_complete(rig, rig_entry(rig, 2));
		axl_queue_reap(q);
		if (q->completed != 1 || !q->dead || !q->bad || ctx_errors_ != 1)
			harness_fail(__FILE__, __LINE__, "kind %d is believed", kind);
		EXPECT_EQ(rig->axl.stats[AXL_STAT_BAD_COMPLETIONS].counter, 1);
		/* Its context ends: one ring error, the rest canceled, each job reported once. */
		axl_queue_fail(q, AXL_ST_RING_ERROR, 0, 0);
		EXPECT_EQ(q->completed, 4);
		EXPECT_EQ(q->guilty, 2);
		EXPECT_EQ(q->guilty_status, AXL_ST_RING_ERROR);
		EXPECT_EQ(rig->axl.stats[AXL_STAT_FAILED_JOBS].counter, 1);
		EXPECT_EQ(rig->axl.stats[AXL_STAT_CANCELED_JOBS].counter, 2);
	}
}

TEST_VARIANTS(repetitions_are_dropped, struct start, STARTS)
{
	struct rig *rig = rig_new(variant->at);
	u64 seq;

	for (seq = 1; seq <= 3000; seq++) {
		rig_submit(rig, 1);
		rig_complete(rig, rig_entry(rig, seq));
		rig_complete(rig, rig_entry(rig, seq));
		EXPECT_EQ(axl_queue_reap(rig->q), 2);
		EXPECT_EQ(rig->q->completed, seq);
	}
	EXPECT_EQ(rig->axl.stats[AXL_STAT_BAD_COMPLETIONS].counter, 3000);
	EXPECT(!rig->q->dead && !ctx_errors_);
}

TEST_VARIANTS(a_failure_may_overtake, struct start, STARTS)
{
	struct rig *rig = rig_new(variant->at);
	struct axl_queue *q = rig->q;
	struct axl_cqe cqe;
	u32 i;

	for (i = 0; i < 5; i++)
		rig_submit(rig, 10);
	cqe = rig_entry(rig, 3);
	cqe.status = AXL_ST_POISONED;
	cqe.sq_head = q->sq_head + 22;	/* not all of it was fetched */
	rig_complete(rig, cqe);
	EXPECT_EQ(axl_queue_reap(q), 1);
	EXPECT(q->dead && !q->bad && ctx_errors_ == 1);
	axl_queue_fail(q, AXL_ST_POISONED, cqe.job, 1);
	EXPECT_EQ(q->completed, 5);
	EXPECT_EQ(q->failed, 1);
	EXPECT_EQ(q->guilty, 3);
	EXPECT_EQ(q->guilty_status, AXL_ST_POISONED);
	EXPECT_EQ(q->guilty_index, 1);
	EXPECT_EQ(rig->axl.stats[AXL_STAT_CANCELED_JOBS].counter, 4);
}

/* ---- clocks ---- */

/* A reading within the frame converts to its bounds, never beyond its ends. */
static void try_frame(u64 cycles, u64 ns, u64 at)
{
	struct axl_instant a = { .cycles = random_(), .ns = random_() >> 2, .exact = true };
	struct axl_instant b = a;
	unsigned __int128 product = (unsigned __int128)at * ns;
	u64 low, high;

	b.cycles += cycles;
	b.ns += ns;
	/* Counters may wrap anywhere; a frame across the wrap is invalid. */
	EXPECT_EQ(axl_frame_good(&a, &b), b.cycles > a.cycles && cycles < U32_MAX && ns < U32_MAX);
	if (!axl_frame_good(&a, &b))
		return;
	low = axl_frame_ns(&a, &b, a.cycles + at, false);
	high = axl_frame_ns(&a, &b, a.cycles + at, true);
	EXPECT_EQ(low - a.ns, (u64)(product / cycles));
	EXPECT_EQ(high - low, product % cycles != 0);
	EXPECT(low >= a.ns && high <= b.ns);
}

TEST(frames_convert_exactly)
{
	static const u64 edges[] = { 1, 2, 3, 1000, 1u << 31, U32_MAX - 2, U32_MAX - 1, U32_MAX,
				     1ull << 32, 1ull << 40 };
	u64 i, j, n = sizeof(edges) / sizeof(*edges);

	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++) {
			try_frame(edges[i], edges[j], 0);
			try_frame(edges[i], edges[j], edges[i]);
			try_frame(edges[i], edges[j], edges[i] - 1);
		}
	for (i = 0; i < 1000000; i++) {
		u64 cycles = 1 + (random_() >> (32 + below(32)));

		try_frame(cycles, random_() >> (32 + below(32)), below(cycles + 1));
	}
}

/* Compared with a 64-bit clock, read by CPUs that may overtake each other a little. */
TEST(narrow_clocks_go_on_beyond_their_wrap)
{
	u32 bits;

	for (bits = 24; bits <= 64; bits++) {
		struct axl_device axl = { .clock_bits = bits };
		u64 turn = bits == 64 ? ~0ull : (1ull << bits) - 1, now = 0, i;

		for (i = 0; i < 5000; i++) {
			u64 back, seen;

			now += below(bits == 64 ? 1ull << 50 : turn / 2);
			EXPECT_EQ(axl_ticks_extend(&axl, now & turn), now);
			back = below((now < turn / 4 ? now : turn / 4) + 1);
			seen = axl_ticks_extend(&axl, (now - back) & turn);
			EXPECT_EQ(seen, now - back);
			EXPECT_EQ(axl_ticks_extend(&axl, now & turn), now);
		}
		/* Otherwise the wrap was not reached. */
		EXPECT(bits > 60 || now > turn);
	}
}

/* ---- device memory ---- */

static const u64 *mono_reads_;

static u64 next_mono_read(void)
{
	return *mono_reads_++;
}

/* Stamps are times here: each pair is a stamp, the time, a stamp. */
TEST(an_anchor_is_of_one_instant)
{
	static const u64 at_once[] = { 500000, 500010, 500020 };
	static const u64 taken_away[] = { 500000, 500010, 9500000, 9500100, 9500110, 9500120 };
	static const u64 always[] = { 100000, 100010, 190000, 200000, 200010, 250000, 300000,
				      300010, 340000, 400000, 400010, 490000 };
	struct axl_anchor anchor = { 0 };

	axl_stamp_init();
	mono_clock_ = next_mono_read;
	mono_reads_ = at_once;
	EXPECT_EQ(axl_anchor_ns(&anchor, 500020), 500010);
	EXPECT_EQ(mono_reads_ - at_once, 3);
	/* Recent enough: nothing is read. */
	EXPECT_EQ(axl_anchor_ns(&anchor, 500020 + AXL_ANCHOR_NS - 1), 500010 + AXL_ANCHOR_NS - 1);
	EXPECT_EQ(axl_anchor_ns(&anchor, 499020), 499010);
	EXPECT_EQ(mono_reads_ - at_once, 3);
	mono_reads_ = taken_away;
	EXPECT_EQ(axl_anchor_ns(&anchor, 9500120), 9500110);
	EXPECT_EQ(mono_reads_ - taken_away, 6);
	/* The loop ends, with the closest pair. */
	anchor = (struct axl_anchor){ 0 };
	mono_reads_ = always;
	EXPECT_EQ(axl_anchor_ns(&anchor, 340000), 300010);
	EXPECT_EQ(mono_reads_ - always, 12);
	mono_clock_ = NULL;
}

TEST(memory_is_given_once)
{
	enum { PAGES = 300 };
	static u8 owner[PAGES];
	struct axl_space space;
	u64 start[PAGES], bytes[PAGES], free_pages = PAGES, turn;
	int live = 0;

	axl_space_init(&space, 4096, 4096 + PAGES * 4096ull);
	for (turn = 0; turn < 200000; turn++) {
		u64 pages = 1 + below(12), at, run = 0, fits = PAGES, i;

		if (live && below(2)) {
			int gone = (int)below((u64)live);

			axl_space_give(&space, start[gone]);
			memset(owner + start[gone] / 4096 - 1, 0, bytes[gone] / 4096);
			free_pages += bytes[gone] / 4096;
			start[gone] = start[--live];
			bytes[gone] = bytes[live];
		}
		for (i = 0; i < PAGES && fits == PAGES; i++) {
			run = owner[i] ? 0 : run + 1;
			if (run == pages)
				fits = i + 1 - pages;
		}
		if (axl_space_take(&space, pages * 4096, &at)) {
			EXPECT_EQ(fits, PAGES);
			continue;
		}
		/* The first place where it fits, not taken by another. */
		EXPECT_EQ(at, (fits + 1) * 4096);
		memset(owner + at / 4096 - 1, 1, pages);
		free_pages -= pages;
		start[live] = at;
		bytes[live++] = pages * 4096;
		EXPECT_EQ(space.free_bytes, free_pages * 4096);
	}
	EXPECT_EQ(axl_space_take(&space, 0, start), -ENOSPC);
	EXPECT_EQ(axl_space_take(&space, ~0ull, start), -ENOSPC);
	axl_space_fini(&space);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}

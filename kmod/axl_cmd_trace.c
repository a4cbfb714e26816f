// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: commands as tracepoints.
 *
 * While sysfs' trace_commands is on, the driver owns the device-wide trace ring, so that user space
 * cannot open it, and emits axl_cmd_start and axl_cmd_end for each command that the device records.
 * By default it is off and none of this code runs.
 *
 * The device writes the ring's memory: its indexes are compared, not trusted.
 */
#include <linux/dma-mapping.h>

#include "axl_memory.h"
#include "axl_trace_cmd.h"
#include "axl_tracing.h"

#define AXL_CMD_TRACE_LOG2	12
#define AXL_CMD_TRACE_RECORDS	BIT(AXL_CMD_TRACE_LOG2)
#define AXL_CMD_TRACE_PERIOD_MS	10	/* for records below the watermark */
#define AXL_CMD_TRACE_BATCH	256	/* records with axl->lock held */
#define AXL_RECORDS_PER_PAGE	(PAGE_SIZE / AXL_TRACE_RECORD_BYTES)

static void axl_cmd_trace_record(struct axl_device *axl, const struct axl_rec_cmd *cmd)
{
	if (cmd->h.type != AXL_REC_CMD)
		return;
	trace_axl_cmd_start(axl->index, cmd->h.context, cmd->h.queue, cmd->job, cmd->correlation,
			    cmd->index, cmd->h.engine, cmd->opcode, cmd->status, cmd->start);
	trace_axl_cmd_end(axl->index, cmd->h.context, cmd->h.queue, cmd->job, cmd->correlation,
			  cmd->index, cmd->h.engine, cmd->opcode, cmd->status, cmd->end);
}

static void axl_cmd_trace_count_lost(struct axl_device *axl, u64 lost)
{
	struct axl_cmd_trace *reader = &axl->cmd_trace;

	if (lost == reader->lost)
		return;
	atomic64_add(lost - reader->lost, &axl->stats[AXL_STAT_TRACE_LOST]);
	trace_axl_cmd_lost(axl->index, lost - reader->lost);
	reader->lost = lost;
}

/* Takes a batch of records, axl->lock held. Returns whether there are more. */
static bool axl_cmd_trace_take(struct axl_device *axl)
{
	struct axl_cmd_trace *reader = &axl->cmd_trace;
	struct axl_trace_ring *ring = &axl->rings[AXL_TRACE_RING_DEVICE];
	u64 waiting = READ_ONCE(ring->header->produced) - reader->read;
	u32 left = AXL_CMD_TRACE_BATCH;

	axl_cmd_trace_count_lost(axl, READ_ONCE(ring->header->lost));
	if (waiting > AXL_CMD_TRACE_RECORDS) {
		/* A correct device never writes beyond the free entries. */
		axl_count(axl, AXL_STAT_BAD_TRACE_INDEXES);
		reader->read += waiting;
		waiting = 0;
	}
	dma_rmb(); /* the records after the index */
	for (; waiting && left; waiting--, left--) {
		u32 at = reader->read++ & (AXL_CMD_TRACE_RECORDS - 1);
		struct page *page = ring->mem.pages->page[1 + at / AXL_RECORDS_PER_PAGE];
		const union axl_record *records = page_address(page);
		union axl_record record = records[at % AXL_RECORDS_PER_PAGE];

		axl_cmd_trace_record(axl, &record.cmd);
	}
	dma_wmb(); /* the records are read before their space is freed */
	WRITE_ONCE(ring->header->consumed, reader->read);
	return waiting;
}

/* May sleep. */
void axl_cmd_trace_drain(struct axl_device *axl)
{
	bool more = true;

	while (more && READ_ONCE(axl->cmd_trace.on)) {
		mutex_lock(&axl->lock);
		more = axl->cmd_trace.on && axl_cmd_trace_take(axl);
		mutex_unlock(&axl->lock);
	}
}

static void axl_cmd_trace_work(struct work_struct *work)
{
	struct axl_device *axl = container_of(to_delayed_work(work), struct axl_device,
					      cmd_trace.work);

	axl_cmd_trace_drain(axl);
	if (READ_ONCE(axl->cmd_trace.on))
		schedule_delayed_work(&axl->cmd_trace.work,
				      msecs_to_jiffies(AXL_CMD_TRACE_PERIOD_MS));
}

static int axl_cmd_trace_start(struct axl_device *axl)
{
	const struct axl_trace_open setup = {
		.log2_records = AXL_CMD_TRACE_LOG2,
		.classes = AXL_REC_CLASS(AXL_REC_CMD),
		.watermark = AXL_CMD_TRACE_RECORDS / 8,
	};
	struct axl_mem mem = {};
	int err;

	err = axl_ring_alloc(axl, NULL, AXL_CMD_TRACE_LOG2, &mem);
	if (err)
		return err;
	mutex_lock(&axl->lock);
	err = axl_ring_take(&axl->rings[AXL_TRACE_RING_DEVICE], &setup, &mem);
	if (!err) {
		axl->cmd_trace.read = 0;
		axl->cmd_trace.lost = 0;
		WRITE_ONCE(axl->cmd_trace.on, true);
	}
	mutex_unlock(&axl->lock);
	if (err) {
		axl_mem_unmap(&mem);
		axl_mem_free(&mem);
		return err;
	}
	schedule_delayed_work(&axl->cmd_trace.work, 0);
	return 0;
}

/* Also called at removal, when it can no longer be started again. */
void axl_cmd_trace_stop(struct axl_device *axl)
{
	struct axl_trace_ring *ring = &axl->rings[AXL_TRACE_RING_DEVICE];
	struct axl_mem mem;
	u32 i;

	if (!axl->cmd_trace.on)
		return;
	mutex_lock(&axl->lock);
	axl_ring_stop(ring);
	/* Takes the remaining records, but no more than fit the ring, whatever the index says. */
	for (i = 0; i < AXL_CMD_TRACE_RECORDS / AXL_CMD_TRACE_BATCH; i++)
		if (!axl_cmd_trace_take(axl))
			break;
	WRITE_ONCE(axl->cmd_trace.on, false);
	mem = axl_ring_drop(ring);
	mutex_unlock(&axl->lock);
	cancel_delayed_work_sync(&axl->cmd_trace.work);
	axl_mem_unmap(&mem);
	axl_mem_free(&mem);
}

static int axl_cmd_trace_switch(struct axl_device *axl, bool on)
{
	int err = 0;

	mutex_lock(&axl->cmd_trace.lock);
	if (on && !axl->cmd_trace.on)
		err = axl_cmd_trace_start(axl);
	else if (!on)
		axl_cmd_trace_stop(axl);
	mutex_unlock(&axl->cmd_trace.lock);
	return err;
}

/* Called from sysfs. -EBUSY: the device-wide trace ring is open. */
int axl_cmd_trace_set(struct axl_device *axl, bool on)
{
	int err, idx;

	err = axl_enter(axl, &idx);
	if (err)
		return err;
	err = axl_cmd_trace_switch(axl, on);
	axl_exit(axl, idx);
	return err;
}

void axl_cmd_trace_init(struct axl_device *axl)
{
	mutex_init(&axl->cmd_trace.lock);
	INIT_DELAYED_WORK(&axl->cmd_trace.work, axl_cmd_trace_work);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: trace rings in host memory. Records are written by DMA as they are made;
 * the producer index follows within AXL_TRACE_LAG_NS or AXL_TRACE_BATCH
 * records. A full ring drops records and counts every one; the first record
 * after a gap is an AXL_REC_LOSS with their number. Ring 0 sees the whole
 * device, ring 1 + c only context c.
 */
#include "qemu-device/observe/state.h"
#include "qemu-device/observe/ring.h"

#define AXL_TRACE_LAG_NS 500
#define AXL_TRACE_BATCH 16
#define AXL_TRACE_REREAD_NS 1000
#define AXL_TR_STATUS_ENABLED 1u
#define AXL_TR_STATUS_ERROR 2u

static uint64_t axl_ring_size(const AxlTraceRing *ring)
{
    return 1ULL << ring->log2;
}

static void axl_ring_error(AxlDevice *s, unsigned r)
{
    s->observe->ring[r].status = AXL_TR_STATUS_ERROR;
    s->observe->ring[r].ctrl = 0;
    axl_sim_at(s, AXL_EV_SAMPLE + r, AXL_NEVER);
    axl_sim_at(s, AXL_EV_WRITEBACK + r, AXL_NEVER);
    qemu_log_mask(LOG_GUEST_ERROR, "axl: trace ring %u: bad set-up or bus error\n", r);
}

static bool axl_ring_write(AxlDevice *s, unsigned r, uint64_t offset, const void *data,
                           uint64_t bytes)
{
    uint64_t addr = s->observe->ring[r].base + offset;

    if (!s->up->post(s, addr, data, bytes)) {
        axl_ring_error(s, r);
        return false;
    }
    return true;
}

/*
 * A ring that a reset disabled continues at the indexes in its header, so that
 * its consumer need not know of the reset. A new one is all zeros. The header
 * is untrusted: an implausible one counts as new.
 */
static bool axl_ring_indexes(AxlDevice *s, unsigned r)
{
    AxlTraceRing *ring = &s->observe->ring[r];
    struct axl_trace_header old;
    uint64_t produced, consumed;

    if (!s->up->fetch(s, ring->base, &old, sizeof(old))) {
        axl_ring_error(s, r);
        return false;
    }
    produced = le64_to_cpu(old.produced);
    consumed = le64_to_cpu(old.consumed);
    if (le32_to_cpu(old.magic) != AXL_TRACE_MAGIC ||
        le32_to_cpu(old.log2_records) != ring->log2 || consumed > produced ||
        produced - consumed > axl_ring_size(ring)) {
        return true;
    }
    ring->produced = ring->notified = produced;
    ring->consumed = consumed;
    ring->lost = le64_to_cpu(old.lost);
    ring->sequence = ring->produced + ring->lost;
    return true;
}

void axl_ring_enable(AxlDevice *s, unsigned r, uint32_t ctrl)
{
    AxlTraceRing *ring = &s->observe->ring[r];
    struct axl_trace_header header = {
        .magic = AXL_TRACE_MAGIC,
        .record_bytes = AXL_TRACE_RECORD_BYTES,
        .log2_records = ring->log2,
        .ring = r,
    };

    if ((ctrl & AXL_TR_ENABLE) == (ring->ctrl & AXL_TR_ENABLE)) {
        return;
    }
    if (!(ctrl & AXL_TR_ENABLE)) {
        axl_ring_writeback(s, r);
        axl_sim_at(s, AXL_EV_SAMPLE + r, AXL_NEVER);
        ring->ctrl = 0;
        ring->status &= ~AXL_TR_STATUS_ENABLED;
        return;
    }
    ring->produced = ring->lost = ring->consumed = ring->notified = 0;
    ring->sequence = ring->sample = 0;
    ring->losing = false;
    ring->reread_ns = 0;
    ring->unwritten = 0;
    if (ring->log2 < 5 || ring->log2 > 20 || (ring->base & (AXL_TRACE_HEADER_BYTES - 1)) ||
        !s->up->allowed(s, ring->base,
                         AXL_TRACE_HEADER_BYTES + AXL_TRACE_RECORD_BYTES * axl_ring_size(ring))) {
        axl_ring_error(s, r);
        return;
    }
    if (!axl_ring_indexes(s, r)) {
        return;
    }
    ring->ctrl = AXL_TR_ENABLE;
    ring->status = AXL_TR_STATUS_ENABLED;
    header.produced = cpu_to_le64(ring->produced);
    header.lost = cpu_to_le64(ring->lost);
    /* Writes everything but the consumer's index. */
    if (axl_ring_write(s, r, 0, &header, offsetof(struct axl_trace_header, consumed))) {
        axl_ring_period(s, r);
    }
}

void axl_ring_reset(AxlDevice *s)
{
    for (unsigned r = 0; r < AXL_MAX_TRACE_RINGS; r++) {
        axl_ring_enable(s, r, 0);
        s->observe->ring[r] = (AxlTraceRing) { 0 };
        axl_sim_at(s, AXL_EV_SAMPLE + r, AXL_NEVER);
        axl_sim_at(s, AXL_EV_WRITEBACK + r, AXL_NEVER);
    }
}

/* The consumer's index is untrusted: it is used only if it is plausible. */
static void axl_ring_reread(AxlDevice *s, unsigned r)
{
    AxlTraceRing *ring = &s->observe->ring[r];
    uint64_t addr = ring->base + offsetof(struct axl_trace_header, consumed), consumed;

    if (s->now < ring->reread_ns) {
        return;
    }
    ring->reread_ns = s->now + AXL_TRACE_REREAD_NS;
    if (!s->up->fetch(s, addr, &consumed, sizeof(consumed))) {
        axl_ring_error(s, r);
        return;
    }
    consumed = le64_to_cpu(consumed);
    if (consumed >= ring->consumed && consumed <= ring->produced) {
        ring->consumed = consumed;
    }
}

static bool axl_ring_put(AxlDevice *s, unsigned r, union axl_record *rec)
{
    AxlTraceRing *ring = &s->observe->ring[r];
    uint64_t slot = ring->produced & (axl_ring_size(ring) - 1);

    rec->h.sequence = ring->sequence++;
    if (!axl_ring_write(s, r, AXL_TRACE_HEADER_BYTES + slot * AXL_TRACE_RECORD_BYTES, rec,
                        AXL_TRACE_RECORD_BYTES)) {
        ring->lost++;
        axl_count(s, AXL_CTR_TRACE_LOST, 1);
        return false;
    }
    ring->produced++;
    axl_count(s, AXL_CTR_TRACE_RECORDS, 1);
    return true;
}

static void axl_ring_drop(AxlDevice *s, unsigned r, const union axl_record *rec)
{
    AxlTraceRing *ring = &s->observe->ring[r];

    if (!ring->losing) {
        ring->losing = true;
        ring->losing_from = ring->lost;
        ring->loss_first = rec->h.time;
    }
    ring->loss_last = rec->h.time;
    ring->sequence++;
    ring->lost++;
    axl_count(s, AXL_CTR_TRACE_LOST, 1);
}

static bool axl_ring_loss(AxlDevice *s, unsigned r)
{
    AxlTraceRing *ring = &s->observe->ring[r];
    union axl_record rec = { 0 };

    rec.h.type = AXL_REC_LOSS;
    rec.h.engine = rec.h.queue = 0xff;
    rec.h.context = r ? r - 1 : 0xff;
    rec.h.time = axl_now(s).ts;
    rec.loss.lost = ring->lost - ring->losing_from;
    rec.loss.first_time = ring->loss_first;
    rec.loss.last_time = ring->loss_last;
    ring->losing = false;
    return axl_ring_put(s, r, &rec);
}

static void axl_ring_push(AxlDevice *s, unsigned r, union axl_record *rec)
{
    AxlTraceRing *ring = &s->observe->ring[r];
    unsigned need = ring->losing ? 2 : 1; /* the loss record needs a slot too */

    if (!(ring->ctrl & AXL_TR_ENABLE) || !(ring->classes & AXL_REC_CLASS(rec->h.type))) {
        return;
    }
    if (ring->produced - ring->consumed + need > axl_ring_size(ring)) {
        axl_ring_reread(s, r);
        if (!(ring->ctrl & AXL_TR_ENABLE)) {
            return;
        }
    }
    if (s->fault.trace_stall || ring->produced - ring->consumed + need > axl_ring_size(ring)) {
        axl_ring_drop(s, r, rec);
    } else if ((ring->losing && !axl_ring_loss(s, r)) || !axl_ring_put(s, r, rec)) {
        return;
    }
    if (++ring->unwritten >= AXL_TRACE_BATCH) {
        axl_ring_writeback(s, r);
    } else if (ring->unwritten == 1) {
        axl_sim_at(s, AXL_EV_WRITEBACK + r, s->now + AXL_TRACE_LAG_NS);
    }
}

void axl_ring_record(AxlDevice *s, union axl_record *rec, int ctx)
{
    axl_ring_push(s, AXL_TRACE_RING_DEVICE, rec);
    if (ctx >= 0) {
        axl_ring_push(s, 1 + ctx, rec);
    }
}

/* Writes the producer index, then raises an interrupt at the watermark. */
void axl_ring_writeback(AxlDevice *s, unsigned r)
{
    AxlTraceRing *ring = &s->observe->ring[r];
    uint64_t index[2] = { cpu_to_le64(ring->produced), cpu_to_le64(ring->lost) };

    axl_sim_at(s, AXL_EV_WRITEBACK + r, AXL_NEVER);
    if (!(ring->ctrl & AXL_TR_ENABLE) || ring->unwritten == 0) {
        return;
    }
    ring->unwritten = 0;
    if (!axl_ring_write(s, r, offsetof(struct axl_trace_header, produced), index, sizeof(index))) {
        return;
    }
    if (ring->watermark && ring->produced - ring->notified >= ring->watermark) {
        ring->notified = ring->produced;
        s->up->interrupt(s, AXL_INT_TRACE);
    }
}

void axl_ring_period(AxlDevice *s, unsigned r)
{
    AxlTraceRing *ring = &s->observe->ring[r];
    int64_t period = CLAMP(ring->period_ns, AXL_TRACE_MIN_PERIOD_NS, (uint64_t)INT64_MAX / 4);
    bool on = (ring->ctrl & AXL_TR_ENABLE) && ring->period_ns;

    axl_sim_at(s, AXL_EV_SAMPLE + r, on ? s->now + period : AXL_NEVER);
}

/* Records a snapshot of all counters, in as many records as needed. */
void axl_ring_sample(AxlDevice *s, unsigned r)
{
    AxlTraceRing *ring = &s->observe->ring[r];
    uint64_t now = axl_now(s).ts;
    uint64_t value[AXL_NUM_COUNTERS];

    s->up->settle(s);
    /* Copied first, because writing the records counts as well. */
    memcpy(value, r ? s->observe->ctx_ctr[r - 1] : s->observe->ctr, sizeof(value));
    ring->sample++;
    for (unsigned first = 0; first < AXL_NUM_COUNTERS; first += AXL_REC_COUNTERS_PER) {
        union axl_record rec = { 0 };
        unsigned count = MIN(AXL_REC_COUNTERS_PER, AXL_NUM_COUNTERS - first);

        rec.h.type = AXL_REC_COUNTERS;
        rec.h.engine = rec.h.queue = 0xff;
        rec.h.context = r ? r - 1 : 0xff;
        rec.h.time = now;
        rec.counters.first = first;
        rec.counters.count = count;
        rec.counters.sample = ring->sample;
        memcpy(rec.counters.value, value + first, count * sizeof(value[0]));
        axl_ring_push(s, r, &rec);
    }
    axl_ring_period(s, r);
}

/*
 * A ring interrupts at its watermark and reads the consumer's index when it is
 * full. Two sources add records without notice: samples of the counters, at
 * their period, and the ends of commands, at most one per dispatch time on each
 * engine.
 */
int64_t axl_ring_shows(const AxlDevice *s, unsigned r, int64_t next)
{
    const AxlTraceRing *ring = &s->observe->ring[r];
    uint64_t left, sampled = 0;

    if (!(ring->ctrl & 1)) {
        return AXL_FAR; /* and its size may be 0 */
    }
    left = (1ULL << ring->log2) - (ring->produced - ring->consumed);
    if (ring->watermark) {
        uint64_t fresh = ring->produced - ring->notified;

        if (fresh >= ring->watermark) {
            return next; /* the index is about to be written, and the interrupt raised */
        }
        left = MIN(left, ring->watermark - fresh);
    }
    if (ring->period_ns) {
        sampled = (AXL_LATE_NS / MAX(ring->period_ns, AXL_TRACE_MIN_PERIOD_NS) + 2) *
                  DIV_ROUND_UP(AXL_NUM_COUNTERS, AXL_REC_COUNTERS_PER);
    }
    /* Leave space for the loss record and for events at the very next instant. */
    if (left < sampled + 2 + 2 * AXL_NUM_ENGINES) {
        return next;
    }
    if (!(ring->classes & AXL_REC_CLASS(AXL_REC_CMD))) {
        return AXL_FAR;
    }
    left = MIN((left - sampled) / AXL_NUM_ENGINES - 2, 1u << 20);
    return next + left * (s->timing.functional ? 1 : s->knob.dispatch_ns);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the truth log, a record of what really happened and why, as JSON lines;
 * docs/truth-log.md has the format. It is flushed whenever the device becomes
 * idle, on reset and at exit, so that nothing is lost when the guest powers off
 * or QEMU is killed.
 */
#include "qemu-device/observe/state.h"

#define TRUTH_VERSION 1
#define TRUTH_BUFFER (256 * KiB)

static const char *const axl_engine_name[] = { "h2d", "d2h", "matrix", "vector" };
static const char *const axl_cause_name[] = {
    "semaphore", "memory", "pcie", "tag", "dispatch", "throttle", "compute",
};

static const char *axl_opcode_name(unsigned opcode)
{
    static const char *const vector[] = {
        "fill", "copy", "add", "mul", "scale", "silu", "silu_mul", "gelu", "rmsnorm", "softmax",
        "rope", "gather", "argmax", "sum",
    };

    switch (opcode) {
    case AXL_OP_NOP:
        return "nop";
    case AXL_OP_COPY_H2D:
        return "copy_h2d";
    case AXL_OP_COPY_D2H:
        return "copy_d2h";
    case AXL_OP_MATMUL:
        return "matmul";
    default:
        return opcode >= AXL_OP_VEC_FILL && opcode - AXL_OP_VEC_FILL < ARRAY_SIZE(vector) ?
               vector[opcode - AXL_OP_VEC_FILL] : "invalid";
    }
}

void axl_truth_flush(AxlDevice *s)
{
    if (s->observe->truth && s->observe->truth_dirty) {
        fflush(s->observe->truth);
        s->observe->truth_dirty = false;
    }
}

/* The output file, or NULL if there is none. */
static FILE *axl_truth_begin(AxlDevice *s)
{
    s->observe->truth_dirty = s->observe->truth != NULL;
    return s->observe->truth;
}

void axl_truth_cmd(AxlDevice *s, const AxlCmd *cmd)
{
    FILE *out = axl_truth_begin(s);
    const AxlDemand *d = &cmd->work.demand;
    const AxlLink *link = &s->timing.link;
    const uint64_t *done = cmd->work.done;
    unsigned cause = axl_work_limiting_cause(&cmd->work);
    int64_t head_ns = cmd->start.ns - cmd->work.ns[AXL_STALL_SEMAPHORE];

    if (!out) {
        return;
    }
    fprintf(out, "{\"t\":\"cmd\",\"dev\":%u,\"job\":%u,\"index\":%u,\"queue\":%u,\"ctx\":%u,"
            "\"engine\":\"%s\",\"opcode\":\"%s\",\"tag\":%u,\"corr\":%" PRIu64,
            s->index, cmd->desc.job, cmd->desc.index, cmd->queue, cmd->ctx,
            axl_engine_name[cmd->engine], axl_opcode_name(cmd->desc.opcode), cmd->desc.tag,
            (uint64_t)cmd->desc.correlation);
    fprintf(out, ",\"doorbell_ns\":%" PRId64 ",\"fetched_ns\":%" PRId64
            ",\"arrived_ns\":%" PRId64 ",\"head_ns\":%" PRId64 ",\"start_ns\":%" PRId64
            ",\"end_ns\":%" PRId64,
            cmd->doorbell.ns, cmd->fetched.ns, cmd->arrived_ns, head_ns, cmd->start.ns,
            cmd->end.ns);
    fprintf(out, ",\"fetched_tsc\":%" PRIu64 ",\"start_tsc\":%" PRIu64 ",\"end_tsc\":%" PRIu64
            ",\"fetched_ticks\":%" PRIu64 ",\"start_ticks\":%" PRIu64 ",\"end_ticks\":%" PRIu64,
            axl_tsc_at(s, cmd->fetched.ns), axl_tsc_at(s, cmd->start.ns),
            axl_tsc_at(s, cmd->end.ns), cmd->fetched.ts, cmd->start.ts, cmd->end.ts);
    fprintf(out, ",\"bytes\":%" PRIu64 ",\"work\":%" PRIu64 ",\"dram_bytes\":%" PRIu64
            ",\"row_hits\":%" PRIu64 ",\"row_misses\":%" PRIu64 ",\"row_conflicts\":%" PRIu64
            ",\"wire_rx\":%" PRIu64 ",\"wire_tx\":%" PRIu64 ",\"status\":%u",
            axl_cmd_bytes(cmd), axl_cmd_work(cmd),
            done[AXL_T_DRAM_READ] + done[AXL_T_DRAM_WRITE], done[AXL_T_ROW_HITS],
            done[AXL_T_ROW_MISSES], done[AXL_T_ROW_CONFLICTS], done[AXL_T_RX_WIRE],
            done[AXL_T_TX_WIRE], cmd->status);
    fprintf(out, ",\"busy_ns\":%" PRId64 ",\"stall_ns\":{", cmd->work.ns[AXL_CAUSE_BUSY]);
    for (unsigned c = 0; c < AXL_NUM_STALLS; c++) {
        fprintf(out, "%s\"%s\":%" PRId64, c ? "," : "", axl_cause_name[c], cmd->work.ns[c]);
    }
    fputs("},\"bound_ns\":{", out);
    for (unsigned c = 0; c < AXL_NUM_CAUSES; c++) {
        fprintf(out, "%s\"%s\":%" PRId64, c ? "," : "", axl_cause_name[c],
                cmd->work.bound_ns[c]);
    }
    fprintf(out, "},\"limiter\":\"%s\",\"limiter_ns\":%" PRId64
            ",\"alone_ns\":{\"compute\":%.1f,"
            "\"memory\":%.1f,\"scratch\":%.1f,\"tag\":%.1f,\"pcie_rx\":%.1f,\"pcie_tx\":%.1f,"
            "\"latency\":%" PRId64 "}}\n",
            axl_cause_name[cause], cmd->work.bound_ns[cause],
            axl_cycles_ns(&s->timing, d), d->dram_ns,
            d->scratch_ns, d->tag_ns, d->rx_bytes * link->rx_ns_per_byte,
            d->tx_bytes * link->tx_ns_per_byte, d->pcie_latency_ns + d->memory_latency_ns);
}

void axl_truth_job(AxlDevice *s, unsigned q, const struct axl_rec_job *rec, int64_t completion_ns,
                   int64_t irq_ns)
{
    FILE *out = axl_truth_begin(s);

    if (!out) {
        return;
    }
    fprintf(out, "{\"t\":\"job\",\"dev\":%u,\"job\":%u,\"queue\":%u,\"ctx\":%u"
            ",\"corr\":%" PRIu64 ",\"commands\":%u,\"status\":%u,\"completion_ns\":%" PRId64
            ",\"completion_tsc\":%" PRIu64
            ",\"completion_ticks\":%" PRIu64 ",\"irq_ns\":%" PRId64 ",\"irq_tsc\":%" PRIu64 "}\n",
            s->index, rec->job, q, rec->h.context, (uint64_t)rec->correlation, rec->commands,
            rec->status, completion_ns, axl_tsc_at(s, completion_ns), (uint64_t)rec->completion,
            irq_ns, irq_ns ? axl_tsc_at(s, irq_ns) : 0);
}

/* All other events: {"t":what, "dev", "time_ns", "tsc", ...}. */
void axl_truth_event(AxlDevice *s, const char *what, const char *fmt, ...)
{
    FILE *out = axl_truth_begin(s);
    va_list ap;

    if (!out) {
        return;
    }
    fprintf(out, "{\"t\":\"%s\",\"dev\":%u,\"time_ns\":%" PRId64 ",\"tsc\":%" PRIu64 ",", what,
            s->index, s->now, axl_tsc_at(s, s->now));
    va_start(ap, fmt);
    vfprintf(out, fmt, ap);
    va_end(ap);
    fputs("}\n", out);
}

static void axl_truth_meta(AxlDevice *s)
{
    FILE *out = axl_truth_begin(s);

    fprintf(out, "{\"t\":\"meta\",\"version\":%d,\"dev\":%u,\"time_ns\":%" PRId64
            ",\"model\":\"%s\",\"qemu\":\"" QEMU_VERSION "\"",
            TRUTH_VERSION, s->index, s->now, s->timing.functional ? "functional" : "full");
#define AXL_KNOB(field, name, def, min, max, when, text) \
    fprintf(out, ",\"" name "\":%" PRId64, s->knob.field);
#include "qemu-device/knobs/knobs.def"
#undef AXL_KNOB
    fputs("}\n", out);
}

bool axl_truth_open(AxlDevice *s, const char *path, Error **errp)
{
    s->observe->truth = fopen(path, "a");
    if (!s->observe->truth) {
        error_setg_errno(errp, errno, "axl: cannot write truth log '%s'", path);
        return false;
    }
    setvbuf(s->observe->truth, NULL, _IOFBF, TRUTH_BUFFER);
    axl_truth_meta(s);
    axl_truth_flush(s);
    return true;
}

bool axl_truth_pending(const AxlDevice *s)
{
    return s->observe->truth_dirty;
}

void axl_truth_close(AxlDevice *s)
{
    if (s->observe->truth) {
        fclose(s->observe->truth);
        s->observe->truth = NULL;
    }
}

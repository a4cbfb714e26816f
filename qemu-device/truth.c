/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the truth log, what really happened and why, as JSON lines; the format
 * is docs/truth-log.md. Flushed whenever the device falls idle, on reset and at
 * exit, so that a guest that powers off (or a killed QEMU) loses nothing done.
 */
#include "axl.h"

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

void axl_truth_flush(AxlState *s)
{
    if (s->truth && s->truth_dirty) {
        fflush(s->truth);
        s->truth_dirty = false;
    }
}

static bool axl_truth_on(AxlState *s)
{
    if (!s->truth) {
        return false;
    }
    s->truth_dirty = true;
    return true;
}

void axl_truth_cmd(AxlState *s, const AxlCmd *cmd)
{
    const AxlDemand *d = &cmd->work.demand;
    const AxlLink *link = &s->timing.link;
    const uint64_t *done = cmd->work.done;
    unsigned cause = axl_work_limiting_cause(&cmd->work);
    int64_t head_ns = cmd->start.ns - cmd->work.ns[AXL_STALL_SEMAPHORE];

    if (!axl_truth_on(s)) {
        return;
    }
    fprintf(s->truth, "{\"t\":\"cmd\",\"dev\":%u,\"job\":%u,\"index\":%u,\"queue\":%u,\"ctx\":%u,"
            "\"engine\":\"%s\",\"opcode\":\"%s\",\"tag\":%u,\"corr\":%" PRIu64,
            s->index, cmd->desc.job, cmd->desc.index, cmd->queue, cmd->ctx,
            axl_engine_name[cmd->engine], axl_opcode_name(cmd->desc.opcode), cmd->desc.tag,
            (uint64_t)cmd->desc.correlation);
    fprintf(s->truth, ",\"doorbell_ns\":%" PRId64 ",\"fetched_ns\":%" PRId64
            ",\"arrived_ns\":%" PRId64 ",\"head_ns\":%" PRId64 ",\"start_ns\":%" PRId64
            ",\"end_ns\":%" PRId64,
            cmd->doorbell.ns, cmd->fetched.ns, cmd->arrived_ns, head_ns, cmd->start.ns,
            cmd->end.ns);
    fprintf(s->truth, ",\"fetched_tsc\":%" PRIu64 ",\"start_tsc\":%" PRIu64 ",\"end_tsc\":%" PRIu64
            ",\"fetched_ticks\":%" PRIu64 ",\"start_ticks\":%" PRIu64 ",\"end_ticks\":%" PRIu64,
            axl_clock_tsc(s, cmd->fetched.ns), axl_clock_tsc(s, cmd->start.ns),
            axl_clock_tsc(s, cmd->end.ns), cmd->fetched.ts, cmd->start.ts, cmd->end.ts);
    fprintf(s->truth, ",\"bytes\":%" PRIu64 ",\"work\":%" PRIu64 ",\"dram_bytes\":%" PRIu64
            ",\"row_hits\":%" PRIu64 ",\"row_misses\":%" PRIu64 ",\"row_conflicts\":%" PRIu64
            ",\"wire_rx\":%" PRIu64 ",\"wire_tx\":%" PRIu64 ",\"status\":%u",
            axl_cmd_bytes(cmd), axl_cmd_work(cmd),
            done[AXL_T_DRAM_READ] + done[AXL_T_DRAM_WRITE], done[AXL_T_ROW_HITS],
            done[AXL_T_ROW_MISSES], done[AXL_T_ROW_CONFLICTS], done[AXL_T_RX_WIRE],
            done[AXL_T_TX_WIRE], cmd->status);
    fprintf(s->truth, ",\"busy_ns\":%" PRId64 ",\"stall_ns\":{", cmd->work.ns[AXL_CAUSE_BUSY]);
    for (unsigned c = 0; c < AXL_NUM_STALLS; c++) {
        fprintf(s->truth, "%s\"%s\":%" PRId64, c ? "," : "", axl_cause_name[c], cmd->work.ns[c]);
    }
    fputs("},\"bound_ns\":{", s->truth);
    for (unsigned c = 0; c < AXL_NUM_CAUSES; c++) {
        fprintf(s->truth, "%s\"%s\":%" PRId64, c ? "," : "", axl_cause_name[c],
                cmd->work.bound_ns[c]);
    }
    fprintf(s->truth, "},\"limiter\":\"%s\",\"limiter_ns\":%" PRId64
            ",\"alone_ns\":{\"compute\":%.1f,"
            "\"memory\":%.1f,\"scratch\":%.1f,\"tag\":%.1f,\"pcie_rx\":%.1f,\"pcie_tx\":%.1f,"
            "\"latency\":%" PRId64 "}}\n",
            axl_cause_name[cause], cmd->work.bound_ns[cause],
            axl_cycles_ns(&s->timing, d), d->dram_ns,
            d->scratch_ns, d->tag_ns, d->rx_bytes * link->rx_ns_per_byte,
            d->tx_bytes * link->tx_ns_per_byte, d->pcie_latency_ns + d->memory_latency_ns);
}

void axl_truth_doorbell(AxlState *s, unsigned q, uint32_t tail, uint32_t previous)
{
    axl_truth_event(s, "doorbell", "\"queue\":%u,\"ctx\":%u,\"tail\":%u,\"previous_tail\":%u", q,
                    s->queue[q].context, tail, previous);
}

void axl_truth_job(AxlState *s, unsigned q, const struct axl_rec_job *rec, int64_t completion_ns,
                   int64_t irq_ns)
{
    if (!axl_truth_on(s)) {
        return;
    }
    fprintf(s->truth, "{\"t\":\"job\",\"dev\":%u,\"job\":%u,\"queue\":%u,\"ctx\":%u"
            ",\"corr\":%" PRIu64 ",\"commands\":%u,\"status\":%u,\"completion_ns\":%" PRId64
            ",\"completion_tsc\":%" PRIu64
            ",\"completion_ticks\":%" PRIu64 ",\"irq_ns\":%" PRId64 ",\"irq_tsc\":%" PRIu64 "}\n",
            s->index, rec->job, q, rec->h.context, (uint64_t)rec->correlation, rec->commands,
            rec->status, completion_ns, axl_clock_tsc(s, completion_ns), (uint64_t)rec->completion,
            irq_ns, irq_ns ? axl_clock_tsc(s, irq_ns) : 0);
}

/* Everything else: {"t":what, "dev", "time_ns", "tsc", ...}. */
void axl_truth_event(AxlState *s, const char *what, const char *fmt, ...)
{
    va_list ap;

    if (!axl_truth_on(s)) {
        return;
    }
    fprintf(s->truth, "{\"t\":\"%s\",\"dev\":%u,\"time_ns\":%" PRId64 ",\"tsc\":%" PRIu64 ",", what,
            s->index, s->now, axl_clock_tsc(s, s->now));
    va_start(ap, fmt);
    vfprintf(s->truth, fmt, ap);
    va_end(ap);
    fputs("}\n", s->truth);
}

static void axl_truth_meta(AxlState *s)
{
    fprintf(s->truth, "{\"t\":\"meta\",\"version\":%d,\"dev\":%u,\"time_ns\":%" PRId64
            ",\"model\":\"%s\",\"qemu\":\"" QEMU_VERSION "\"",
            TRUTH_VERSION, s->index, s->now, s->timing.functional ? "functional" : "full");
#define AXL_KNOB(field, name, def, min, max, when, text) \
    fprintf(s->truth, ",\"" name "\":%" PRId64, s->knob.field);
#include "qemu-device/knobs/knobs.def"
#undef AXL_KNOB
    fputs("}\n", s->truth);
    axl_truth_on(s);
}

static void axl_truth_exit(Notifier *n, void *unused)
{
    AxlState *s = container_of(n, AxlState, exit_notifier);

    axl_truth_flush(s);
}

static void axl_truth_vm_stopped(void *opaque, bool running, RunState state)
{
    AxlState *s = opaque;

    if (!running) {
        /* The monitor's `stop` waits for no command; whoever ends the machine does. */
        if (state != RUN_STATE_PAUSED || !s->aside.cmd) {
            axl_sim_catch_up(opaque);
        }
        axl_truth_flush(opaque);
    }
}

bool axl_truth_open(AxlState *s, Error **errp)
{
    if (!s->truth_path || !*s->truth_path) {
        return true;
    }
    s->truth = fopen(s->truth_path, "a");
    if (!s->truth) {
        error_setg_errno(errp, errno, "axl: cannot write truth log '%s'", s->truth_path);
        return false;
    }
    setvbuf(s->truth, NULL, _IOFBF, TRUTH_BUFFER);
    s->exit_notifier.notify = axl_truth_exit;
    qemu_add_exit_notifier(&s->exit_notifier);
    s->vmstate_entry = qemu_add_vm_change_state_handler(axl_truth_vm_stopped, s);
    axl_truth_meta(s);
    axl_truth_flush(s);
    return true;
}

void axl_truth_close(AxlState *s)
{
    if (!s->truth) {
        return;
    }
    qemu_remove_exit_notifier(&s->exit_notifier);
    qemu_del_vm_change_state_handler(s->vmstate_entry);
    fclose(s->truth);
    s->truth = NULL;
}

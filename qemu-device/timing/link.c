/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the PCIe link. TLP counts and wire bytes of reads and writes in closed
 * form, and the link's rate.
 *
 * Arithmetic as in the PCI Express Base Specification: a read request may not
 * be longer than MRRS nor cross a 4 KiB boundary (requests end at multiples of
 * MRRS, which divides 4 KiB); completions carry up to MPS and all but the last
 * end at a multiple of the read completion boundary; writes end at multiples
 * of MPS. Up to generation 5 a TLP has 8 bytes of framing, sequence number and
 * LCRC around it; generation 6 sends 236 bytes of TLPs in each 256-byte flit.
 */
#include "qemu-device/timing/timing.h"

#include <math.h>

#define HDR_REQUEST 16    /* four DW: 64-bit address */
#define HDR_COMPLETION 12
#define TLP_FRAMING 8
#define DLLP_PER_TLP 4    /* an ACK and an UpdateFC of 8 bytes for every 4 TLPs */

static const struct {
    double gt;
    unsigned num, den; /* of the raw bits, what carries TLPs and DLLPs */
} axl_link_rate[] = {
    { 0, 1, 1 },
    { 2.5, 8, 10 },
    { 5, 8, 10 },
    { 8, 128, 130 },
    { 16, 128, 130 },
    { 32, 128, 130 },
    { 64, 236, 256 },
};

bool axl_link_update(AxlTiming *t)
{
    const AxlKnobs *k = t->knob;
    AxlLink *l = &t->link;
    unsigned gen = MIN(k->link_speed ?: k->pcie_gen, k->pcie_gen);
    unsigned width = MIN(k->link_lanes ?: k->pcie_width, k->pcie_width);
    bool changed = l->gen && (gen != l->gen || width != l->width);
    double bytes_per_ns = axl_link_rate[gen].gt * width / 8 * axl_link_rate[gen].num /
                          axl_link_rate[gen].den;

    if (k->pcie_bandwidth) {
        bytes_per_ns = k->pcie_bandwidth * 1e-3;
    }
    l->gen = gen;
    l->width = width;
    l->tx_ns_per_byte = l->rx_ns_per_byte = 1 / bytes_per_ns;
    return changed;
}

bool axl_link_down(const AxlTiming *t, int64_t now_ns)
{
    return now_ns < t->link.up_ns;
}

static bool axl_link_flits(const AxlTiming *t)
{
    return t->link.gen >= 6;
}

/* Number of completions that answer one request. */
static uint64_t axl_link_cplds(const AxlTiming *t, uint64_t addr, uint64_t bytes)
{
    uint64_t rcb = t->knob->pcie_rcb;
    uint64_t first = (addr + t->link.mps) / rcb * rcb - addr;

    return bytes <= first ? 1 : 1 + DIV_ROUND_UP(bytes - first, t->link.mps);
}

void axl_link_read_tlps(const AxlTiming *t, AxlTlps *n, uint64_t addr, uint64_t bytes)
{
    uint64_t mrrs = t->link.mrrs;
    uint64_t first = MIN(bytes, addr / mrrs * mrrs + mrrs - addr);
    uint64_t whole = (bytes - first) / mrrs;
    uint64_t last = (bytes - first) % mrrs;

    n->mrd += 1 + whole + !!last;
    n->cpld += axl_link_cplds(t, addr, first);
    if (whole) {
        n->cpld += whole * axl_link_cplds(t, 0, mrrs);
    }
    if (last) {
        n->cpld += axl_link_cplds(t, 0, last);
    }
}

void axl_link_write_tlps(const AxlTiming *t, AxlTlps *n, uint64_t addr, uint64_t bytes)
{
    n->mwr += (addr + bytes - 1) / t->link.mps - addr / t->link.mps + 1;
}

void axl_link_wire(const AxlTiming *t, AxlTlps *n, uint64_t read_bytes, uint64_t write_bytes)
{
    unsigned framing = axl_link_flits(t) ? 0 : TLP_FRAMING;
    unsigned dllp = axl_link_flits(t) ? 0 : DLLP_PER_TLP;

    n->rx_wire += read_bytes + n->cpld * (HDR_COMPLETION + framing) + (n->mrd + n->mwr) * dllp;
    n->tx_wire += write_bytes + (n->mrd + n->mwr) * (HDR_REQUEST + framing) + n->cpld * dllp;
}

/*
 * Reads with `tags` requests outstanding: request k is sent when request k -
 * tags has returned. Returns the time beyond the first round trip, or 0 if tags
 * do not limit.
 */
double axl_link_tag_ns(const AxlTiming *t, uint64_t reads, double each_ns)
{
    double latency = t->knob->pcie_latency_ns;
    uint64_t tags = t->knob->pcie_tags;
    uint64_t rounds;

    if (reads <= tags || tags * each_ns >= latency + each_ns) {
        return 0;
    }
    rounds = (reads - 1) / tags;
    return rounds * latency + (rounds + reads - rounds * tags) * each_ns;
}

int64_t axl_link_read_ns(const AxlTiming *t, uint64_t bytes)
{
    return t->functional ? 1 : t->knob->pcie_latency_ns +
                               (int64_t)ceil(bytes * t->link.rx_ns_per_byte);
}

int64_t axl_link_post_ns(const AxlTiming *t, uint64_t bytes)
{
    return t->functional ? 1 : t->knob->pcie_latency_ns / 2 +
                               (int64_t)ceil(bytes * t->link.tx_ns_per_byte);
}

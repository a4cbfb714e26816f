/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: default values of the knobs, and the rules between them. */
#include "qemu-device/knobs/knobs.h"

#include <stddef.h>

#define KiB (INT64_C(1) << 10)
#define MiB (INT64_C(1) << 20)
#define GiB (INT64_C(1) << 30)

void axl_knobs_init(AxlKnobs *k, AxlFaults *f)
{
#define AXL_KNOB(field, name, def, min, max, when, text) k->field = def;
#include "qemu-device/knobs/knobs.def"
#undef AXL_KNOB
#define AXL_FAULT(field, name, def, min, max, text) f->field = def;
#include "qemu-device/knobs/faults.def"
#undef AXL_FAULT
}

const char *axl_knobs_check(const AxlKnobs *k)
{
    if (k->dram_bytes % (4 * KiB) || k->scratch_bytes % (4 * KiB)) {
        return "'dram-bytes' and 'scratch-bytes' must be multiples of 4 KiB";
    }
    if (k->dram_row_bytes < k->dram_burst_bytes) {
        return "'dram-row-bytes' is less than 'dram-burst-bytes'";
    }
    return NULL;
}

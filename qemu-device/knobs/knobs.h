/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the values of the knobs, plain C. Every number of the model is in
 * knobs.def; every injectable fault is in faults.def.
 */
#ifndef AXL_KNOBS_KNOBS_H
#define AXL_KNOBS_KNOBS_H

#include <stdint.h>

#include "kmod/uapi/axl_hw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AXL_MAX_BANKS 64

typedef struct AxlKnobs {
#define AXL_KNOB(field, name, def, min, max, when, text) int64_t field;
#include "qemu-device/knobs/knobs.def"
#undef AXL_KNOB
} AxlKnobs;

/* Counted faults that are pending, and permanent ones. */
typedef struct AxlFaults {
#define AXL_FAULT(field, name, def, min, max, text) int64_t field;
#include "qemu-device/knobs/faults.def"
#undef AXL_FAULT
} AxlFaults;

void axl_knobs_init(AxlKnobs *k, AxlFaults *f);
/* Checks the rules between knobs: NULL, or the error message. */
const char *axl_knobs_check(const AxlKnobs *k);

#ifdef __cplusplus
}
#endif

#endif /* AXL_KNOBS_KNOBS_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: checks of a descriptor, plain C. */
#ifndef AXL_FRONTEND_DECODE_H
#define AXL_FRONTEND_DECODE_H

#include "qemu-device/timing/timing.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns AXL_ST_OK or the error; sets the list of operands. */
unsigned axl_decode(const AxlKnobs *k, const struct axl_desc *d, AxlWork *w);

#ifdef __cplusplus
}
#endif

#endif /* AXL_FRONTEND_DECODE_H */

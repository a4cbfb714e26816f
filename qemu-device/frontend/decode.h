/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: checks of a descriptor, plain C. */
#ifndef AXL_FRONTEND_DECODE_H
#define AXL_FRONTEND_DECODE_H

#include "qemu-device/timing/timing.h"

#ifdef __cplusplus
extern "C" {
#endif

/* AXL_ST_OK, or what is wrong; sets the operand list. */
unsigned axl_decode(const AxlKnobs *k, const struct axl_desc *d, AxlWork *w);

#ifdef __cplusplus
}
#endif

#endif /* AXL_FRONTEND_DECODE_H */

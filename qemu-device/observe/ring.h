/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AXL_OBSERVE_RING_H
#define AXL_OBSERVE_RING_H

#include "qemu-device/core/device.h"

#define AXL_TR_ENABLE 1u

void axl_ring_enable(AxlDevice *s, unsigned r, uint32_t ctrl);
void axl_ring_period(AxlDevice *s, unsigned r); /* it changed: when the next sample is due */

#endif /* AXL_OBSERVE_RING_H */

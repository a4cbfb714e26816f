/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AXL_OBSERVE_CLOCK_H
#define AXL_OBSERVE_CLOCK_H

#include "qemu-device/core/device.h"

/* Sets the clock's rate to hz from s->now on; clock_set.c decides when. */
void axl_clock_run_at(AxlDevice *s, double hz);

#endif /* AXL_OBSERVE_CLOCK_H */

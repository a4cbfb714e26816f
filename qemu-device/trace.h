/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU's trace events of the device, made from trace-events; the device's own trace unit is trace.c. */
#include "trace/trace-hw_misc_axl.h"

// SPDX-License-Identifier: GPL-2.0
/* axl.ko: instantiates the tracepoints of axl_trace.h. */
#define CREATE_TRACE_POINTS
#include "axl_trace.h"

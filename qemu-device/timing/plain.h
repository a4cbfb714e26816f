/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: definitions that plain C lacks. The timing model, the values of the
 * knobs, the memory and the decoder include no QEMU header; if QEMU's headers
 * were included first, their definitions are used.
 */
#ifndef AXL_TIMING_PLAIN_H
#define AXL_TIMING_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef MIN
#define MIN(a, b) ({                                    \
        __typeof__(1 ? (a) : (b)) a_ = (a), b_ = (b);   \
        a_ < b_ ? a_ : b_;                              \
    })
#define MAX(a, b) ({                                    \
        __typeof__(1 ? (a) : (b)) a_ = (a), b_ = (b);   \
        a_ > b_ ? a_ : b_;                              \
    })
#endif
#ifndef DIV_ROUND_UP
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#endif

#endif /* AXL_TIMING_PLAIN_H */

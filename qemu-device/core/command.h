/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: a command, as the front end runs it and the observers record it. */
#ifndef AXL_CORE_COMMAND_H
#define AXL_CORE_COMMAND_H

#include "qemu-device/timing/timing.h"

/* One instant on all time scales in use. */
typedef struct AxlStamp {
    int64_t ns;   /* virtual clock */
    uint64_t raw; /* device ticks since power-on: no offset, no step, no wrap */
    uint64_t frac; /* of a tick, in 2^-64 */
    uint64_t ts;  /* what the guest sees: offset added, wrapped */
} AxlStamp;

typedef enum AxlCmdState {
    AXL_CMD_FETCHED, /* in the window, not yet at an engine */
    AXL_CMD_QUEUED,  /* in an engine's FIFO */
    AXL_CMD_RUNNING,
    AXL_CMD_DONE,
} AxlCmdState;

typedef struct AxlCmd {
    struct axl_desc desc;
    AxlCmdState state;
    uint8_t queue;
    uint8_t ctx;
    uint8_t engine;
    uint8_t status; /* enum axl_status */
    uint32_t sq_index;
    AxlStamp doorbell, fetched, start, end;
    int64_t arrived_ns; /* first of its queue at the engine */
    AxlWork work;
    struct axl_sg *sg; /* owned, read when the command starts */
} AxlCmd;

#endif /* AXL_CORE_COMMAND_H */

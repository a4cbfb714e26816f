/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: the lifetime layer: the objects of a file. See axl_dev.h. */
#ifndef _AXL_LIFETIME_H
#define _AXL_LIFETIME_H

#include "axl_dev.h"

/* axl_client.c */
void axl_client_open(struct axl_file *file);
void axl_client_close(struct axl_file *file);
int axl_client_join(struct axl_file *file, const struct axl_file *other, struct axl_join *cmd);
int axl_ioctl_clients(struct axl_ucmd *ucmd);

/* Combines the client number, which the driver vouches for, with the caller's id of the call. */
static inline u64 axl_correlation(const struct axl_file *file, u64 callers)
{
	return (u64)READ_ONCE(file->client) << 32 | (u32)callers;
}

/* axl_ctx.c */
int axl_ioctl_ctx_create(struct axl_ucmd *ucmd);
int axl_ioctl_ctx_destroy(struct axl_ucmd *ucmd);
struct axl_ctx *axl_ctx_get(struct axl_file *file, u32 handle);
void axl_ctx_put(struct axl_ctx *ctx);
void axl_ctx_release(struct axl_ctx *ctx);

/* axl_queue.c */
struct axl_queue *axl_queue_create(struct axl_ctx *ctx);
void axl_queue_start(struct axl_queue *q);
void axl_queue_free_rings(struct axl_queue *q);
void axl_queue_destroy(struct axl_queue *q);

/* axl_buf.c */
int axl_ioctl_buf_create(struct axl_ucmd *ucmd);
int axl_ioctl_buf_destroy(struct axl_ucmd *ucmd);
void axl_bufs_teardown(struct axl_file *file);

/* axl_trace_open.c */
int axl_ioctl_trace_open(struct axl_ucmd *ucmd);
int axl_ioctl_trace_close(struct axl_ucmd *ucmd);
int axl_ioctl_jobs_trace(struct axl_ucmd *ucmd);
void axl_ring_release(struct axl_file *file);

/* axl_driver_ring_open.c */
int axl_driver_ring_open(struct axl_ucmd *ucmd);
void axl_driver_ring_release(struct axl_file *file);

#endif /* _AXL_LIFETIME_H */

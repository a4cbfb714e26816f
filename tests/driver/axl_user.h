/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's ioctls as functions, for its tests. Each returns 0 or -errno.
 */
#ifndef TESTS_DRIVER_AXL_USER_H_
#define TESTS_DRIVER_AXL_USER_H_

#include <stdint.h>

#include "kmod/uapi/axl.h"
#include "kmod/uapi/axl_counters.h"

/* Opens /dev/axl$AXL_DEVICE (default 0); ends the test on failure. */
int dev_open(void);
int dev_ioctl(int fd, unsigned long nr, void *arg);
struct axl_info dev_info(int fd);
int64_t now_ns(void);

int ctx_create(int fd, uint32_t queues, uint32_t priority, struct axl_ctx_create *out);
int ctx_destroy(int fd, uint32_t ctx);
int buf_create(int fd, uint32_t kind, uint64_t bytes, void *user, struct axl_buf_create *out);
int buf_destroy(int fd, uint32_t handle);
/* Maps a host buffer; NULL on failure. */
void *buf_map(int fd, const struct axl_buf_create *buf);

struct axl_desc cmd_nop(uint8_t engine);
struct axl_desc cmd_copy(uint8_t opcode, uint64_t host_ref, uint64_t device_ref, uint64_t bytes);
struct axl_desc cmd_fill(uint64_t dst_ref, uint32_t count, float value);
/* No semaphores; row-major, packed. */
struct axl_desc cmd_matmul(uint64_t a, uint64_t b, uint64_t c, uint32_t m, uint32_t n, uint32_t k);
void cmd_wait(struct axl_desc *cmd, uint16_t sem, uint64_t value);
void cmd_signal(struct axl_desc *cmd, uint16_t sem, uint64_t value);

int submit(int fd, uint32_t ctx, uint32_t queue, const struct axl_desc *cmds, uint32_t count,
	   struct axl_submit *out);
int submit_flags(int fd, uint32_t ctx, uint32_t queue, uint32_t flags, const struct axl_desc *cmds,
		 uint32_t count, struct axl_submit *out);
/* timeout_ms < 0 means no deadline. */
int wait_seq(int fd, uint32_t ctx, uint32_t queue, uint64_t seq, int timeout_ms,
	     struct axl_wait *out);
int submit_wait(int fd, uint32_t ctx, uint32_t queue, const struct axl_desc *cmds, uint32_t count);

/* Writes a kernel file. Returns 0 or -errno. */
int write_text(const char *path, const char *text);

/* Sets the driver's job_timeout_ms, 0 = no limit. */
void job_timeout_ms(int ms);

#endif /* TESTS_DRIVER_AXL_USER_H_ */

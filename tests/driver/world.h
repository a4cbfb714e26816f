/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of the driver's recovery share: a client with a context and memory
 * that can say whether it works. Room: tests/driver.
 */
#ifndef TESTS_DRIVER_WORLD_H_
#define TESTS_DRIVER_WORLD_H_

#include "tests/driver/axl_user.h"

struct world {
	int fd;
	uint32_t ctx;		/* with two queues */
	struct axl_buf_create host, device;
	float *map;
	uint64_t turn;		/* of its semaphores */
};

struct world world_open(void);
/* A mapping holds the file, as everywhere. */
void world_close(struct world *w);
/* A job that uses all engines and whose result is checked. 0 = right. */
int right_result(struct world *w);
int one_nop(const struct world *w, uint8_t engine, struct axl_wait *end);

/* The driver's job_timeout_ms. */
void job_timeout_ms(int ms);
/* A file of axl0's stats/, -1 = none. */
long long stat_of(const char *name);

#endif /* TESTS_DRIVER_WORLD_H_ */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of the driver's recovery share: a client with a context and memory
 * that can say whether it works, and what the driver reports.
 */
#ifndef TESTS_DRIVER_WORLD_H_
#define TESTS_DRIVER_WORLD_H_

#include <pthread.h>

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
/* Another context in the place of one that was lost. */
void world_renew(struct world *w);

/* A thread that waits without a deadline for a job of queue 0. */
struct sleeper {
	const struct world *w;
	uint64_t seq;
	int result;
	struct axl_wait end;
};

void *sleeper(void *arg);
/*
 * After a right result: a job with a fence that waits for what nobody writes, and a thread that
 * sleeps for it. The world's map is marked, too.
 */
void hang(struct world *w, struct axl_desc *cmd, struct axl_submit *job, struct sleeper *s,
	  pthread_t *thread);
/* The device's trace ring. */
struct axl_trace_header *trace_map(int fd, struct axl_trace_open *ring);

/* A thread that wants right results again and again, and a new context when its own is lost. */
struct client {
	struct world w;
	long right, lost, refused;
	int unexpected;		/* an answer that no client should get, 0 = none */
	pthread_t thread;
};

/* Each in a thread and a world of its own. */
void clients_start(struct client *clients, int count);
/* Their worlds stay open. */
void clients_stop(struct client *clients, int count);

/* Hears the kernel's uevents from here on, as udev does. */
int uevents_open(void);
/* The next one of axl0 itself: "action event state", empty = none came. */
const char *uevent_next(int fd);

/* A file of axl0's stats/, -1 = none. */
long long stat_of(const char *name);
/* Whether axl0's state begins so. */
int state_is(const char *wanted);

#endif /* TESTS_DRIVER_WORLD_H_ */

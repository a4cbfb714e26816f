/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of the tests of recovery: a client with a context and memory that can check its
 * results, and the driver's reports.
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
/* A mapping keeps the file open, as everywhere. */
void world_close(struct world *w);
/* Runs a job that uses all engines and checks its result. Returns 0 if it is right. */
int right_result(struct world *w);
int one_nop(const struct world *w, uint8_t engine, struct axl_wait *end);
/* Replaces a lost context. */
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
 * After a right result: submits a job with a fence that waits for a signal that never comes, and
 * starts a thread that sleeps for it. Also marks the world's map.
 */
void hang(struct world *w, struct axl_desc *cmd, struct axl_submit *job, struct sleeper *s,
	  pthread_t *thread);
/* Maps the device's trace ring. */
struct axl_trace_header *trace_map(int fd, struct axl_trace_open *ring);

/* A thread that checks results repeatedly, and replaces its context when it is lost. */
struct client {
	struct world w;
	long right, lost, refused;
	int unexpected;		/* an errno that no client should get, 0 = none */
	pthread_t thread;
};

/* Starts each in its own thread and world. */
void clients_start(struct client *clients, int count);
/* Stops them; their worlds stay open. */
void clients_stop(struct client *clients, int count);

/* Receives the kernel's uevents from here on, as udev does. */
int uevents_open(void);
/* The next one of axl0 itself: "action event state", empty if none came. */
const char *uevent_next(int fd);

/* A file in axl0's stats/, -1 if missing. */
long long stat_of(const char *name);
/* Whether axl0's state begins with this text. */
int state_is(const char *wanted);

#endif /* TESTS_DRIVER_WORLD_H_ */

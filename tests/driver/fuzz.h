/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the ioctl fuzzer, see fuzz_test.c. */
#ifndef TESTS_DRIVER_FUZZ_H_
#define TESTS_DRIVER_FUZZ_H_

#include <stddef.h>
#include <stdint.h>

#include "kmod/uapi/axl.h"

enum {
	FUZZ_MAX_THREADS = 16,
	FUZZ_FILES = 4,
	FUZZ_CTXS = 2,		/* handles remembered of a file */
	FUZZ_BUFS = 16,
	FUZZ_MAPS = 8,
	FUZZ_FENCES = 8,
	FUZZ_CMDS = 24,
	FUZZ_ERRNOS = 160,
	FUZZ_USER_BYTES = 1 << 18,
};

/* In the order of the ioctls' numbers, then any other number. */
enum {
	FUZZ_INFO, FUZZ_CTX_CREATE, FUZZ_CTX_DESTROY, FUZZ_BUF_CREATE, FUZZ_BUF_DESTROY,
	FUZZ_SUBMIT, FUZZ_WAIT, FUZZ_COUNTERS, FUZZ_CLOCK, FUZZ_TRACE_OPEN, FUZZ_TRACE_CLOSE,
	FUZZ_JOBS_TRACE, FUZZ_JOIN, FUZZ_CLIENTS, FUZZ_RAW, FUZZ_NUM_OPS
};

struct fuzz_buf {
	uint32_t handle;
	uint32_t kind;
	uint64_t bytes;
	uint64_t mmap_offset;
};

struct fuzz_map {
	unsigned char *at;
	size_t bytes;
};

/* All threads read and write it without locks: a stale handle is a good test. */
struct fuzz_file {
	int fd;
	uint32_t ctx[FUZZ_CTXS];
	uint64_t sequence[FUZZ_CTXS];
	struct fuzz_buf bufs[FUZZ_BUFS];
	uint64_t ring_bytes;
};

struct fuzz_world {
	struct fuzz_file files[FUZZ_FILES];
	struct axl_desc *shared;	/* commands that every thread changes */
	unsigned char *user;		/* memory to pin */
	int fences[FUZZ_FENCES];
	long ioctls, mappings, polls, bad;
	/* results of calls, by errno; 0 = success */
	long ends[FUZZ_NUM_OPS][FUZZ_ERRNOS];
};

extern struct fuzz_world world_;

/* The state of one thread. */
struct fuzz {
	uint64_t state;
	int id;
	unsigned char *page;		/* a page, then one that faults */
	struct axl_desc *cmds;
	struct fuzz_map maps[FUZZ_MAPS];
};

uint64_t fuzz_random(struct fuzz *f);
static inline uint32_t fuzz_below(struct fuzz *f, uint32_t limit)
{
	return (uint32_t)(fuzz_random(f) % limit);
}

static inline int fuzz_one_in(struct fuzz *f, uint32_t n)
{
	return fuzz_below(f, n) == 0;
}

/* A number near a limit. */
uint64_t fuzz_number(struct fuzz *f);
const char *fuzz_op_name(uint32_t op);
void fuzz_world_open(void);
void fuzz_world_close(void);
void fuzz_arena(struct fuzz *f);
void fuzz_arena_end(struct fuzz *f);
/* Makes one ioctl, mapping, poll or similar. */
void fuzz_step(struct fuzz *f);

/* fuzz_commands.c: commands on a file's buffers, most of them valid. */
uint32_t fuzz_commands(struct fuzz *f, const struct fuzz_file *file, struct axl_desc *cmds);

#endif /* TESTS_DRIVER_FUZZ_H_ */

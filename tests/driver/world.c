// SPDX-License-Identifier: Apache-2.0
/* A client of the driver that can say whether it works. */
#include "tests/driver/world.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "tests/driver/harness.h"

long long stat_of(const char *name)
{
	char path[128];
	long long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/axl/axl0/stats/%s", name);
	file = fopen(path, "r");
	if (file) {
		if (fscanf(file, "%lld", &value) != 1)
			value = -1;
		fclose(file);
	}
	return value;
}

int state_is(const char *wanted)
{
	char state[32] = "";
	FILE *file = fopen("/sys/class/axl/axl0/state", "r");

	if (file) {
		if (!fgets(state, sizeof(state), file))
			*state = 0;
		fclose(file);
	}
	return strncmp(state, wanted, strlen(wanted)) == 0;
}

struct world world_open(void)
{
	struct world w = { .fd = dev_open() };
	struct axl_ctx_create ctx;

	ASSERT(ctx_create(w.fd, 2, 0, &ctx) == 0);
	w.ctx = ctx.ctx;
	ASSERT(buf_create(w.fd, AXL_BUF_HOST, 1 << 16, NULL, &w.host) == 0);
	ASSERT(buf_create(w.fd, AXL_BUF_DEVICE, 1 << 16, NULL, &w.device) == 0);
	w.map = buf_map(w.fd, &w.host);
	ASSERT(w.map);
	return w;
}

void world_close(struct world *w)
{
	munmap(w->map, w->host.bytes);
	close(w->fd);
}

int right_result(struct world *w)
{
	enum { N = 16 };
	uint64_t host = AXL_REF(w->host.handle, 0), device = AXL_REF(w->device.handle, 0);
	struct axl_desc cmds[4];
	uint64_t turn = ++w->turn;
	int i, err;

	for (i = 0; i < N * N; i++) {
		w->map[i] = (float)(i + (int)turn);
		w->map[N * N + i] = i % (N + 1) == 0;	/* the identity */
		w->map[2 * N * N + i] = -1;
	}
	cmds[0] = cmd_copy(AXL_OP_COPY_H2D, host, device, 2 * N * N * 4);
	cmd_signal(&cmds[0], 0, turn);
	cmds[1] = cmd_matmul(device, device + N * N * 4, device + 2 * N * N * 4, N, N, N);
	cmd_wait(&cmds[1], 0, turn);
	cmd_signal(&cmds[1], 1, turn);
	cmds[2] = cmd_fill(device + 2 * N * N * 4, 1, 123.0f);
	cmd_wait(&cmds[2], 1, turn);
	cmd_signal(&cmds[2], 2, turn);
	cmds[3] = cmd_copy(AXL_OP_COPY_D2H, host + 2 * N * N * 4, device + 2 * N * N * 4,
			   N * N * 4);
	cmd_wait(&cmds[3], 2, turn);
	err = submit_wait(w->fd, w->ctx, 0, cmds, 4);
	if (err)
		return err;
	if (w->map[2 * N * N] != 123.0f)
		return -EILSEQ;
	for (i = 1; i < N * N; i++)
		if (w->map[2 * N * N + i] != w->map[i])
			return -EILSEQ;
	return 0;
}

int one_nop(const struct world *w, uint8_t engine, struct axl_wait *end)
{
	struct axl_desc nop = cmd_nop(engine);
	struct axl_submit job;
	int err = submit(w->fd, w->ctx, 0, &nop, 1, &job);

	return err ? err : wait_seq(w->fd, w->ctx, 0, job.sequence, PATIENCE_MS, end);
}

void world_renew(struct world *w)
{
	struct axl_ctx_create ctx;

	EXPECT_EQ(ctx_destroy(w->fd, w->ctx), 0);
	ASSERT(ctx_create(w->fd, 2, 0, &ctx) == 0);
	w->ctx = ctx.ctx;
}

void *sleeper(void *arg)
{
	struct sleeper *s = arg;

	s->result = wait_seq(s->w->fd, s->w->ctx, 0, s->seq, -1, &s->end);
	return NULL;
}

void hang(struct world *w, struct axl_desc *cmd, struct axl_submit *job, struct sleeper *s,
	  pthread_t *thread)
{
	EXPECT_EQ(right_result(w), 0);
	w->map[16000] = 77;
	cmd_wait(cmd, 100, 1);
	ASSERT(submit_flags(w->fd, w->ctx, 0, AXL_SUBMIT_FENCE_FD, cmd, 1, job) == 0);
	s->seq = job->sequence;
	ASSERT(pthread_create(thread, NULL, sleeper, s) == 0);
	usleep(20000);
}

struct axl_trace_header *trace_map(int fd, struct axl_trace_open *ring)
{
	struct axl_trace_header *header;

	ASSERT(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, ring) == 0);
	header = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT(header != MAP_FAILED);
	return header;
}

static int stop_;

static void *client(void *arg)
{
	struct client *c = arg;
	struct world w = c->w;
	int err;

	while (!__atomic_load_n(&stop_, __ATOMIC_RELAXED)) {
		struct axl_clock_sample sample = { .size = sizeof(sample) };

		err = right_result(&w);
		if (!err) {
			c->right++;
		} else if (err == -EIO) {
			struct axl_ctx_create ctx;

			c->lost++;
			if (ctx_destroy(w.fd, w.ctx))
				c->unexpected = -EBADF;
			/* No new context before the device is back. */
			while ((err = ctx_create(w.fd, 2, 0, &ctx)) == -EIO) {
				c->refused++;
				usleep(1000);
			}
			if (!err)
				w.ctx = ctx.ctx;
		}
		if (err)
			c->unexpected = err;
		err = dev_ioctl(w.fd, AXL_IOCTL_CLOCK_SAMPLE, &sample);
		if (err && err != -EIO)
			c->unexpected = err;
		if (c->unexpected)
			break;
	}
	c->w = w;
	return NULL;
}

void clients_start(struct client *clients, int count)
{
	int i;

	for (i = 0; i < count; i++)
		clients[i].w = world_open();
	for (i = 0; i < count; i++)
		ASSERT(pthread_create(&clients[i].thread, NULL, client, &clients[i]) == 0);
}

void clients_stop(struct client *clients, int count)
{
	int i;

	__atomic_store_n(&stop_, 1, __ATOMIC_RELAXED);
	for (i = 0; i < count; i++)
		pthread_join(clients[i].thread, NULL);
}

int uevents_open(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	ASSERT(fd >= 0);
	ASSERT(bind(fd, (void *)&address, sizeof(address)) == 0);
	return fd;
}

/* The value of a key in a message, NULL if missing. */
static const char *uevent_value(const char *message, ssize_t bytes, const char *key)
{
	const char *at = message, *end = message + bytes;

	for (; at < end; at += strlen(at) + 1)
		if (strncmp(at, key, strlen(key)) == 0 && at[strlen(key)] == '=')
			return at + strlen(key) + 1;
	return NULL;
}

const char *uevent_next(int fd)
{
	static char message[8192], text[256];
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	while (poll(&ready, 1, PATIENCE_MS) == 1) {
		ssize_t bytes = recv(fd, message, sizeof(message) - 1, 0);
		const char *subsystem, *name, *action, *event, *state;

		if (bytes <= 0)
			break;
		message[bytes] = 0;
		subsystem = uevent_value(message, bytes, "SUBSYSTEM");
		name = uevent_value(message, bytes, "DEVNAME");
		action = uevent_value(message, bytes, "ACTION");
		event = uevent_value(message, bytes, "AXL_EVENT");
		state = uevent_value(message, bytes, "AXL_STATE");
		if (!subsystem || strcmp(subsystem, "axl") || !name || strcmp(name, "axl0") ||
		    !action)
			continue;
		snprintf(text, sizeof(text), "%s %s %s", action, event ? event : "-",
			 state ? state : "-");
		return text;
	}
	return "";
}

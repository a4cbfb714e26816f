// SPDX-License-Identifier: Apache-2.0
/* A client of the driver that can say whether it works. Room: tests/driver. */
#include "tests/driver/world.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/driver/harness.h"

#define TIMEOUT_FILE "/sys/module/axl/parameters/job_timeout_ms"

void job_timeout_ms(int ms)
{
	FILE *file = fopen(TIMEOUT_FILE, "w");

	ASSERT(file);
	fprintf(file, "%d\n", ms);
	ASSERT(fclose(file) == 0);
}

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

	return err ? err : wait_seq(w->fd, w->ctx, 0, job.sequence, 15000, end);
}

// SPDX-License-Identifier: Apache-2.0
/* Owners of files: client numbers that no caller can choose, and the process of each. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

static int join(int fd, int to, uint32_t *client)
{
	struct axl_join cmd = { .size = sizeof(cmd), .fd = to };
	int err = dev_ioctl(fd, AXL_IOCTL_JOIN, &cmd);

	*client = cmd.client;
	return err;
}

/* The file's row, or all zeros if not found; reads a few rows per call. */
static struct axl_client find_file(int fd, uint32_t number)
{
	struct axl_client rows[2];
	struct axl_clients cmd = { .size = sizeof(cmd), .clients = (uintptr_t)rows };
	uint32_t i;

	do {
		cmd.count = 2;
		if (dev_ioctl(fd, AXL_IOCTL_CLIENTS, &cmd))
			break;
		for (i = 0; i < cmd.count; i++) {
			EXPECT(rows[i].file > cmd.after);
			EXPECT_EQ(rows[i].reserved, 0);
			if (rows[i].file == number)
				return rows[i];
			cmd.after = rows[i].file;
		}
	} while (cmd.count == 2);
	return (struct axl_client){ 0 };
}

TEST(each_open_has_a_number_of_its_own)
{
	uint32_t last = 0, i;

	for (i = 0; i < 100; i++) {
		int fd = dev_open();
		uint32_t client = dev_info(fd).client;

		EXPECT(client > last && client <= AXL_CLIENT_MAX);
		last = client;
		close(fd);
	}
}

TEST(an_id_names_the_files_client_whatever_its_caller_wrote)
{
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_ctx_create ctx;
	int fd = dev_open();
	uint64_t mine = (uint64_t)dev_info(fd).client << 32;
	struct axl_submit job = { .size = sizeof(job), .cmds = (uintptr_t)&nop, .num_cmds = 1,
				  .cmd_bytes = sizeof(nop), .correlation = ~0ull - 5 };
	struct axl_wait wait = { .size = sizeof(wait), .deadline_ns = -1,
				 .correlation = 0x100000007ull };

	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	job.ctx = ctx.ctx;
	wait.ctx = ctx.ctx;
	ASSERT(dev_ioctl(fd, AXL_IOCTL_SUBMIT, &job) == 0);
	EXPECT_EQ(job.correlation, mine | 0xfffffffa);
	wait.sequence = job.sequence;
	ASSERT(dev_ioctl(fd, AXL_IOCTL_WAIT, &wait) == 0);
	EXPECT_EQ(wait.correlation, mine | 7);
}

TEST(files_of_a_process_may_be_one_client)
{
	struct axl_ctx_create ctx;
	int first = dev_open(), second = dev_open(), third = dev_open();
	uint32_t client = dev_info(first).client, number = dev_info(second).client, got = 0;

	EXPECT(number != client);
	EXPECT_EQ(join(second, first, &got), 0);
	EXPECT_EQ(got, client);
	EXPECT_EQ(dev_info(second).client, client);
	EXPECT_EQ(find_file(first, number).client, client);
	EXPECT_EQ(find_file(first, number).pid, getpid());
	/* Through a file that has itself joined, and to itself, which changes nothing. */
	EXPECT_EQ(join(third, second, &got), 0);
	EXPECT_EQ(got, client);
	EXPECT_EQ(join(first, first, &got), 0);
	EXPECT_EQ(got, client);
	close(first);
	EXPECT_EQ(dev_info(second).client, client);
	/* The owner of a context's jobs must not change. */
	ASSERT(ctx_create(third, 1, 0, &ctx) == 0);
	EXPECT_EQ(join(third, second, &got), -EBUSY);
	EXPECT_EQ(ctx_destroy(third, ctx.ctx), 0);
	EXPECT_EQ(join(third, second, &got), 0);
}

TEST(what_is_no_file_of_the_driver_cannot_be_joined)
{
	struct axl_join cmd = { .size = sizeof(cmd), .fd = -1 };
	int fd = dev_open(), null = open("/dev/null", O_RDWR);
	uint32_t client = dev_info(fd).client, got;

	EXPECT_EQ(join(fd, -1, &got), -EINVAL);
	EXPECT_EQ(join(fd, null, &got), -EINVAL);
	EXPECT_EQ(join(fd, 12345, &got), -EINVAL);
	cmd.fd = fd;
	cmd.reserved = 1;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_JOIN, &cmd), -EINVAL);
	EXPECT_EQ(dev_info(fd).client, client);
}

/* The child has its parent's file, and may open its own; neither becomes the other's. */
TEST(a_child_is_another_client)
{
	int fd = dev_open(), status;
	uint32_t client = dev_info(fd).client;
	pid_t pid = fork();

	if (!pid) {
		int own = dev_open();
		uint32_t number = dev_info(own).client, got;

		EXPECT(number != client);
		EXPECT_EQ(join(own, fd, &got), -EPERM);
		EXPECT_EQ(join(fd, own, &got), -EPERM);
		EXPECT_EQ(dev_info(fd).client, client);
		EXPECT_EQ(find_file(own, number).pid, getpid());
		EXPECT_EQ(find_file(own, client).pid, getppid());
		_exit(harness_failed());
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	EXPECT_EQ(find_file(fd, client).pid, getpid());
}

TEST(who_they_are_is_for_who_may_see_all)
{
	struct axl_client row;
	struct axl_clients cmd = { .size = sizeof(cmd), .clients = (uintptr_t)&row };
	int fd = dev_open();

	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_CLIENTS, &cmd), -EINVAL);
	cmd.count = AXL_MAX_CLIENTS + 1;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_CLIENTS, &cmd), -EINVAL);
	cmd.count = 1;
	cmd.reserved = 1;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_CLIENTS, &cmd), -EINVAL);
	cmd.reserved = 0;
	cmd.clients = 8;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_CLIENTS, &cmd), -EFAULT);
	cmd.clients = (uintptr_t)&row;
	cmd.after = AXL_CLIENT_MAX;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_CLIENTS, &cmd), 0);
	EXPECT_EQ(cmd.count, 0);
	ASSERT(setuid(65534) == 0);
	cmd.count = 1;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_CLIENTS, &cmd), -EPERM);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}

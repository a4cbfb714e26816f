// SPDX-License-Identifier: Apache-2.0
/* Waiting: order, deadlines, signals, fences. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <fcntl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

struct world {
	int fd;
	uint32_t ctx;
};

static struct world world_open(uint32_t queues)
{
	struct world w = { .fd = dev_open() };
	struct axl_ctx_create ctx;

	ASSERT(ctx_create(w.fd, queues, 0, &ctx) == 0);
	w.ctx = ctx.ctx;
	return w;
}

/* Submits a job on queue 0 that waits for release(). */
static uint64_t submit_blocked(const struct world *w, uint32_t flags, struct axl_submit *job)
{
	struct axl_desc cmd = cmd_nop(AXL_ENGINE_VECTOR);

	cmd_wait(&cmd, 9, 1);
	ASSERT(submit_flags(w->fd, w->ctx, 0, flags, &cmd, 1, job) == 0);
	return job->sequence;
}

static void release(const struct world *w)
{
	struct axl_desc cmd = cmd_nop(AXL_ENGINE_MATRIX);
	struct axl_submit job;

	cmd_signal(&cmd, 9, 1);
	ASSERT(submit(w->fd, w->ctx, 1, &cmd, 1, &job) == 0);
}

TEST(arguments_are_checked)
{
	struct world w = world_open(1);
	struct axl_wait end;

	EXPECT_EQ(wait_seq(w.fd, w.ctx, 0, 0, 0, &end), -EINVAL);
	EXPECT_EQ(wait_seq(w.fd, w.ctx, 0, 1, 0, &end), -ENOENT);
	EXPECT_EQ(wait_seq(w.fd, w.ctx, 1, 1, 0, &end), -ENOENT);
	EXPECT_EQ(wait_seq(w.fd, w.ctx + 1, 0, 1, 0, &end), -ENOENT);
	end = (struct axl_wait){ .size = sizeof(end), .ctx = w.ctx, .sequence = 1, .flags = 1 };
	EXPECT_EQ(dev_ioctl(w.fd, AXL_IOCTL_WAIT, &end), -EINVAL);
}

TEST(every_sequence_can_be_waited_for_in_any_order)
{
	struct world w = world_open(1);
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_submit job;
	struct axl_wait end;
	uint64_t last_ticks = 0;
	int i;

	for (i = 0; i < 100; i++)
		ASSERT(submit(w.fd, w.ctx, 0, &nop, 1, &job) == 0);
	ASSERT(wait_seq(w.fd, w.ctx, 0, 100, PATIENCE_MS, &end) == 0);
	for (i = 1; i <= 100; i++) {
		ASSERT(wait_seq(w.fd, w.ctx, 0, i, 0, &end) == 0);
		EXPECT_EQ(end.status, AXL_ST_OK);
		EXPECT(end.device_ticks >= last_ticks && end.device_ticks != 0);
		last_ticks = end.device_ticks;
	}
}

TEST(deadline_is_kept)
{
	struct world w = world_open(2);
	struct axl_submit job;
	struct axl_wait end;
	uint64_t seq = submit_blocked(&w, 0, &job);
	int64_t start = now_ns();

	EXPECT_EQ(wait_seq(w.fd, w.ctx, 0, seq, 0, &end), -ETIMEDOUT);
	EXPECT_EQ(wait_seq(w.fd, w.ctx, 0, seq, 60, &end), -ETIMEDOUT);
	EXPECT(now_ns() - start >= 60000000);
	end = (struct axl_wait){ .size = sizeof(end), .ctx = w.ctx, .sequence = seq,
				 .deadline_ns = 1 };
	EXPECT_EQ(dev_ioctl(w.fd, AXL_IOCTL_WAIT, &end), -ETIMEDOUT);
	release(&w);
	EXPECT_EQ(wait_seq(w.fd, w.ctx, 0, seq, PATIENCE_MS, &end), 0);
	/* A deadline in the past does not matter for a completed job. */
	EXPECT_EQ(wait_seq(w.fd, w.ctx, 0, seq, 0, &end), 0);
}

static void on_alarm(int signal)
{
	(void)signal;
}

TEST(signals_interrupt)
{
	struct world w = world_open(2);
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval timer = { .it_value = { .tv_usec = 50000 } };
	struct axl_submit job;
	struct axl_wait end;
	uint64_t seq = submit_blocked(&w, 0, &job);

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	EXPECT_EQ(wait_seq(w.fd, w.ctx, 0, seq, -1, &end), -EINTR);
	release(&w);
	EXPECT_EQ(wait_seq(w.fd, w.ctx, 0, seq, -1, &end), 0);
}

static int signals_;

static void on_signal(int signal)
{
	(void)signal;
	signals_++;
}

/* Deadlines are absolute: a call that signals restart ends in time. */
TEST(signals_do_not_put_off_a_deadline)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct world w = world_open(2);
	struct axl_submit job;
	struct axl_wait end;
	uint64_t seq = submit_blocked(&w, 0, &job);
	pid_t parent = getpid(), pid;

	sigaction(SIGUSR1, &action, NULL);
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		while (kill(parent, SIGUSR1) == 0)
			usleep(10000);
		_exit(0);
	}
	EXPECT_EQ(wait_seq(w.fd, w.ctx, 0, seq, 500, &end), -ETIMEDOUT);
	kill(pid, SIGKILL);
	EXPECT_EQ(waitpid(pid, NULL, 0), pid);
	EXPECT(signals_ > 3);
	EXPECT_EQ(wait_seq(w.fd, w.ctx, 0, seq, 0, &end), -ETIMEDOUT);
}

TEST(the_farthest_deadlines_are_deadlines)
{
	struct world w = world_open(2);
	struct axl_submit job;
	struct axl_wait end = { .size = sizeof(end), .ctx = w.ctx };
	int i;

	for (i = 0; i < 2; i++) {
		end.sequence = submit_blocked(&w, 0, &job);
		end.deadline_ns = i ? INT64_MIN : INT64_MAX;
		if (!i)
			release(&w);
		EXPECT_EQ(dev_ioctl(w.fd, AXL_IOCTL_WAIT, &end), 0);
		EXPECT_EQ(end.status, AXL_ST_OK);
	}
}

struct sleeper {
	const struct world *w;
	uint64_t seq;
	int result;
};

static void *sleep_thread(void *arg)
{
	struct sleeper *s = arg;
	struct axl_wait end;

	s->result = wait_seq(s->w->fd, s->w->ctx, 0, s->seq, -1, &end);
	return NULL;
}

TEST(all_sleepers_wake)
{
	struct world w = world_open(2);
	struct sleeper sleepers[8];
	pthread_t threads[8];
	struct axl_submit job;
	uint64_t seq = submit_blocked(&w, 0, &job);
	int i;

	for (i = 0; i < 8; i++) {
		sleepers[i] = (struct sleeper){ &w, seq, 1 };
		ASSERT(pthread_create(&threads[i], NULL, sleep_thread, &sleepers[i]) == 0);
	}
	release(&w);
	for (i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(sleepers[i].result, 0);
	}
}

TEST(destroying_a_context_cancels_its_sleepers)
{
	struct world w = world_open(2);
	struct sleeper s = { &w, 0, 1 };
	struct axl_submit job;
	pthread_t thread;
	int i;

	s.seq = submit_blocked(&w, 0, &job);
	ASSERT(pthread_create(&thread, NULL, sleep_thread, &s) == 0);
	/* The thread is asleep in the kernel once its state says so. */
	for (i = 0; i < 100; i++) {
		char path[64], text[512] = "";
		int stat;

		snprintf(path, sizeof(path), "/proc/self/wchan");
		stat = open(path, O_RDONLY);
		if (stat >= 0) {
			if (read(stat, text, sizeof(text) - 1) < 0)
				text[0] = 0;
			close(stat);
		}
		usleep(1000);
	}
	EXPECT_EQ(ctx_destroy(w.fd, w.ctx), 0);
	pthread_join(thread, NULL);
	EXPECT(s.result == -EIO || s.result == -ENOENT);
}

TEST(fence_is_pollable)
{
	struct world w = world_open(2);
	struct axl_fence_status status;
	struct axl_submit job;
	struct pollfd poll_fd;
	uint64_t seq = submit_blocked(&w, AXL_SUBMIT_FENCE_FD, &job);

	ASSERT(job.fence_fd >= 0);
	EXPECT(fcntl(job.fence_fd, F_GETFD) & FD_CLOEXEC);
	poll_fd = (struct pollfd){ .fd = job.fence_fd, .events = POLLIN };
	EXPECT_EQ(poll(&poll_fd, 1, 0), 0);
	fcntl(job.fence_fd, F_SETFL, O_NONBLOCK);
	EXPECT_EQ(read(job.fence_fd, &status, sizeof(status)), -1);
	EXPECT_EQ(errno, EAGAIN);
	release(&w);
	EXPECT_EQ(poll(&poll_fd, 1, PATIENCE_MS), 1);
	EXPECT_EQ(poll_fd.revents, POLLIN);
	EXPECT_EQ(read(job.fence_fd, &status, sizeof(status) - 1), -1);
	EXPECT_EQ(read(job.fence_fd, &status, sizeof(status)), sizeof(status));
	EXPECT_EQ(status.sequence, seq);
	EXPECT_EQ(status.status, AXL_ST_OK);
	EXPECT(status.device_ticks != 0);
}

TEST(fence_outlives_its_context_and_file)
{
	struct world w = world_open(2);
	struct axl_fence_status status;
	struct axl_submit job;
	struct pollfd poll_fd;

	submit_blocked(&w, AXL_SUBMIT_FENCE_FD, &job);
	poll_fd = (struct pollfd){ .fd = job.fence_fd, .events = POLLIN };
	close(w.fd);
	EXPECT_EQ(poll(&poll_fd, 1, PATIENCE_MS), 1);
	EXPECT_EQ(poll_fd.revents, POLLIN | POLLERR);
	EXPECT_EQ(read(job.fence_fd, &status, sizeof(status)), sizeof(status));
	EXPECT_EQ(status.status, AXL_ST_CANCELED);
}

TEST(a_refused_job_leaves_no_descriptor)
{
	struct world w = world_open(1);
	struct axl_desc bad = cmd_nop(99);
	struct axl_submit job;
	int before = dup(0), after;

	close(before);
	EXPECT_EQ(submit_flags(w.fd, w.ctx, 0, AXL_SUBMIT_FENCE_FD, &bad, 1, &job), -EINVAL);
	after = dup(0);
	EXPECT_EQ(after, before);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}

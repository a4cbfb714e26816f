// SPDX-License-Identifier: Apache-2.0
/* A uevent for each change of the device's state, as udev gets it. */
#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include <linux/pci_regs.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"
#include "tests/driver/qmp.h"
#include "tests/driver/world.h"

#define DEVICE "/sys/class/axl/axl0/device/"

static void expect(int fd, const char *wanted)
{
	const char *got = uevent_next(fd);

	if (strcmp(got, wanted))
		harness_fail(__FILE__, __LINE__, "uevent '%s', not '%s'", got, wanted);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	ASSERT(fd >= 0);
	ASSERT(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* A name such as 0000:01:00.0. */
static void pci_name(char *name, size_t room)
{
	char link[256];
	ssize_t bytes = readlink("/sys/class/axl/axl0/device", link, sizeof(link) - 1);

	ASSERT(bytes > 0);
	link[bytes] = 0;
	snprintf(name, room, "%s", strrchr(link, '/') + 1);
}

TEST(a_failed_context_is_reported)
{
	struct axl_desc nop = cmd_nop(AXL_ENGINE_MATRIX);
	struct axl_ctx_create ctx;
	int fd = dev_open(), events;

	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	events = uevents_open();
	ASSERT(qmp_set("fault-poison", 1) == 0);
	EXPECT_EQ(submit_wait(fd, ctx.ctx, 0, &nop, 1), -EIO);
	expect(events, "change context_reset live");
}

TEST(link_and_throttling_are_reported)
{
	int events = uevents_open();

	ASSERT(qmp_set("link-speed", 1) == 0);
	expect(events, "change link live");
	ASSERT(qmp_set("link-speed", 0) == 0);
	expect(events, "change link live");
	ASSERT(qmp_set("throttle-permille", 500) == 0);
	expect(events, "change throttle live");
	ASSERT(qmp_set("throttle-permille", 1000) == 0);
	expect(events, "change throttle live");
}

TEST(a_function_reset_is_reported)
{
	int events = uevents_open();

	put(DEVICE "reset", "1");
	expect(events, "change offline offline");
	expect(events, "change online live");
}

TEST(coming_and_going_is_reported)
{
	int events = uevents_open(), i;
	char name[64];

	pci_name(name, sizeof(name));
	/* Unbinding is not a loss, though the device is no longer accessible. */
	for (i = 0; i < 5; i++) {
		put("/sys/bus/pci/drivers/axl/unbind", name);
		expect(events, "remove - -");
		put("/sys/bus/pci/drivers/axl/bind", name);
		expect(events, "add - -");
	}
}

/*
 * Without hot-plug handling of the slot the driver finds out by itself that all reads return ones.
 * The device that is put back has to be found like a new one. The last test, since the slot stays
 * unhandled from then on.
 */
TEST(loss_is_reported)
{
	struct axl_clock_sample sample = { .size = sizeof(sample) };
	int fd = dev_open(), events = uevents_open();
	glob_t ports;
	char name[64];
	size_t i;

	ASSERT(glob("/sys/bus/pci_express/drivers/pciehp/0000:*", 0, NULL, &ports) == 0);
	for (i = 0; i < ports.gl_pathc; i++)
		put("/sys/bus/pci_express/drivers/pciehp/unbind",
		    strrchr(ports.gl_pathv[i], '/') + 1);
	pci_name(name, sizeof(name));
	ASSERT(qmp_set("fault-removed", 1) == 0);
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_CLOCK_SAMPLE, &sample), -ENODEV);
	expect(events, "change lost lost");
	close(fd);
	put(DEVICE "remove", "1");
	expect(events, "remove - -");
	ASSERT(qmp_set("fault-removed", 0) == 0);
	put("/sys/bus/pci/rescan", "1");
	expect(events, "add - -");
}

/* Disables hot-plug handling of the slots from here on. */
static void detach_slots(void)
{
	glob_t ports;
	size_t i;

	if (glob("/sys/bus/pci_express/drivers/pciehp/0000:*", 0, NULL, &ports))
		return;
	for (i = 0; i < ports.gl_pathc; i++)
		put("/sys/bus/pci_express/drivers/pciehp/unbind",
		    strrchr(ports.gl_pathv[i], '/') + 1);
	globfree(&ports);
}

/*
 * The emulator reports errors only with SERR# on, which firmware enables, but a hot plug does not.
 */
static void serr_on(void)
{
	int file = open(DEVICE "config", O_RDWR | O_CLOEXEC);
	uint16_t command;

	ASSERT(file >= 0 && pread(file, &command, 2, PCI_COMMAND) == 2);
	command |= PCI_COMMAND_SERR;
	ASSERT(pwrite(file, &command, 2, PCI_COMMAND) == 2);
	close(file);
}

/*
 * A bus error whose reset fails: the kernel gives the device up, and so does the driver. Jobs in
 * flight are reported before.
 */
TEST(an_error_that_does_not_end_is_a_loss)
{
	struct axl_clock_sample sample = { .size = sizeof(sample) };
	struct axl_desc blocked = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_fence_status status = { 0 };
	struct world w = world_open();
	struct axl_submit job;
	int events;

	detach_slots();
	serr_on();
	/*
	 * On a slow machine the bus may take longer than a job's time limit, which is not tested
	 * here.
	 */
	job_timeout_ms(0);
	cmd_wait(&blocked, 100, 1);
	ASSERT(submit_flags(w.fd, w.ctx, 0, AXL_SUBMIT_FENCE_FD, &blocked, 1, &job) == 0);
	events = uevents_open();
	ASSERT(qmp_set("fault-removed", 1) == 0);
	ASSERT(qmp_bus_error("0x40000 0 0 0 0") == 0);
	expect(events, "change offline offline");
	expect(events, "change lost lost");
	job_timeout_ms(10000);
	EXPECT_EQ(read(job.fence_fd, &status, sizeof(status)), sizeof(status));
	EXPECT_EQ(status.status, AXL_ST_CANCELED);
	EXPECT_EQ(dev_ioctl(w.fd, AXL_IOCTL_CLOCK_SAMPLE, &sample), -ENODEV);
	EXPECT_EQ(submit(w.fd, w.ctx, 0, &blocked, 1, &job), -ENODEV);
	world_close(&w);
	put(DEVICE "remove", "1");
	expect(events, "remove - -");
	ASSERT(qmp_set("fault-removed", 0) == 0);
	put("/sys/bus/pci/rescan", "1");
	expect(events, "add - -");
	w = world_open();
	EXPECT_EQ(right_result(&w), 0);
}

/* A lost device returns after a reset, with the same file; the next loss is reported again. */
TEST(each_loss_is_reported_once)
{
	struct axl_clock_sample sample = { .size = sizeof(sample) };
	int fd = dev_open(), events, i, turn;

	detach_slots();
	events = uevents_open();
	for (turn = 0; turn < 2; turn++) {
		ASSERT(qmp_set("fault-removed", 1) == 0);
		for (i = 0; i < 3; i++) {
			sample.flags = 0;
			EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_CLOCK_SAMPLE, &sample), -ENODEV);
			EXPECT(open("/dev/axl0", O_RDWR | O_CLOEXEC) < 0 && errno == ENODEV);
		}
		expect(events, "change lost lost");
		ASSERT(qmp_set("fault-removed", 0) == 0);
		put(DEVICE "reset", "1");
		expect(events, "change offline lost");
		expect(events, "change online live");
		sample.flags = 0;
		EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_CLOCK_SAMPLE, &sample), 0);
	}
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}

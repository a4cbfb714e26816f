// SPDX-License-Identifier: Apache-2.0
/* A uevent for each change of the device's state, as udev gets it. Room: tests/driver. */
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"
#include "tests/driver/qmp.h"

#define DEVICE "/sys/class/axl/axl0/device/"

static int listen_uevents(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	ASSERT(fd >= 0);
	ASSERT(bind(fd, (void *)&address, sizeof(address)) == 0);
	return fd;
}

/* The value of a key in a message, NULL when it has none. */
static const char *value(const char *message, ssize_t bytes, const char *key)
{
	const char *at = message, *end = message + bytes;

	for (; at < end; at += strlen(at) + 1)
		if (strncmp(at, key, strlen(key)) == 0 && at[strlen(key)] == '=')
			return at + strlen(key) + 1;
	return NULL;
}

/* The next message about axl0 itself, within 20 s: "action event state", empty = none came. */
static const char *next_uevent(int fd)
{
	static char message[8192], text[256];
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	while (poll(&ready, 1, 20000) == 1) {
		ssize_t bytes = recv(fd, message, sizeof(message) - 1, 0);
		const char *subsystem, *name, *action, *event, *state;

		if (bytes <= 0)
			break;
		message[bytes] = 0;
		subsystem = value(message, bytes, "SUBSYSTEM");
		name = value(message, bytes, "DEVNAME");
		action = value(message, bytes, "ACTION");
		event = value(message, bytes, "AXL_EVENT");
		state = value(message, bytes, "AXL_STATE");
		if (!subsystem || strcmp(subsystem, "axl") || !name || strcmp(name, "axl0") ||
		    !action)
			continue;
		snprintf(text, sizeof(text), "%s %s %s", action, event ? event : "-",
			 state ? state : "-");
		return text;
	}
	return "";
}

static void expect(int fd, const char *wanted)
{
	const char *got = next_uevent(fd);

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

/* Such as 0000:01:00.0. */
static void pci_name(char *name, size_t room)
{
	char link[256];
	ssize_t bytes = readlink("/sys/class/axl/axl0/device", link, sizeof(link) - 1);

	ASSERT(bytes > 0);
	link[bytes] = 0;
	snprintf(name, room, "%s", strrchr(link, '/') + 1);
}

TEST(a_failed_context_is_told)
{
	struct axl_desc nop = cmd_nop(AXL_ENGINE_MATRIX);
	struct axl_ctx_create ctx;
	int fd = dev_open(), events;

	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	events = listen_uevents();
	ASSERT(qmp_set("fault-poison", 1) == 0);
	EXPECT_EQ(submit_wait(fd, ctx.ctx, 0, &nop, 1), -EIO);
	expect(events, "change context_reset live");
}

TEST(link_and_throttling_are_told)
{
	int events = listen_uevents();

	ASSERT(qmp_set("link-speed", 1) == 0);
	expect(events, "change link live");
	ASSERT(qmp_set("link-speed", 0) == 0);
	expect(events, "change link live");
	ASSERT(qmp_set("throttle-permille", 500) == 0);
	expect(events, "change throttle live");
	ASSERT(qmp_set("throttle-permille", 1000) == 0);
	expect(events, "change throttle live");
}

TEST(a_function_reset_is_told)
{
	int events = listen_uevents();

	put(DEVICE "reset", "1");
	expect(events, "change offline offline");
	expect(events, "change online live");
}

TEST(coming_and_going_is_told)
{
	int events = listen_uevents();
	char name[64];

	pci_name(name, sizeof(name));
	put("/sys/bus/pci/drivers/axl/unbind", name);
	expect(events, "remove - -");
	put("/sys/bus/pci/drivers/axl/bind", name);
	expect(events, "add - -");
}

/*
 * Nobody attends to the slot: the driver finds out by itself that what it reads
 * are all ones. What is put back has to be found like a new device. The last
 * test, since nobody attends to the slot from then on.
 */
TEST(loss_is_told)
{
	struct axl_clock_sample sample = { .size = sizeof(sample) };
	int fd = dev_open(), events = listen_uevents();
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

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}

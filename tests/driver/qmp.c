// SPDX-License-Identifier: Apache-2.0
/* QMP over a virtio port. */
#include "tests/driver/qmp.h"

#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/driver/harness.h"

static int port_ = -1;
static char answer_[8192];

/* Finds the port whose name is "axl.qmp". */
static int port_open(void)
{
	char name[64], path[80];
	glob_t found;
	size_t i;
	int fd = -1;

	if (glob("/sys/class/virtio-ports/*/name", 0, NULL, &found))
		return -1;
	for (i = 0; i < found.gl_pathc && fd < 0; i++) {
		FILE *file = fopen(found.gl_pathv[i], "r");

		if (file && fgets(name, sizeof(name), file) && strcmp(name, "axl.qmp\n") == 0 &&
		    sscanf(found.gl_pathv[i], "/sys/class/virtio-ports/%32[^/]", name) == 1) {
			snprintf(path, sizeof(path), "/dev/%s", name);
			fd = open(path, O_RDWR | O_CLOEXEC);
		}
		if (file)
			fclose(file);
	}
	globfree(&found);
	return fd;
}

/* One line of at most sizeof(answer_), within ten seconds. */
static int read_line(void)
{
	size_t length = 0;
	struct pollfd ready = { .fd = port_, .events = POLLIN };

	while (length + 1 < sizeof(answer_)) {
		if (poll(&ready, 1, PATIENCE_MS) != 1 || read(port_, answer_ + length, 1) != 1)
			return -1;
		if (answer_[length] == '\n')
			break;
		length++;
	}
	answer_[length] = 0;
	return 0;
}

static int ask(const char *command)
{
	size_t length = strlen(command);

	if (write(port_, command, length) != (ssize_t)length || write(port_, "\n", 1) != 1)
		return -1;
	/* Skip events and the greeting. */
	do {
		if (read_line())
			return -1;
	} while (!strstr(answer_, "\"return\"") && !strstr(answer_, "\"error\""));
	return strstr(answer_, "\"error\"") ? -1 : 0;
}

static int ready(void)
{
	if (port_ >= 0)
		return 0;
	port_ = port_open();
	if (port_ < 0)
		harness_skip("no QMP port in this guest");
	/* Discard output that an earlier user left unread. */
	while (poll(&(struct pollfd){ .fd = port_, .events = POLLIN }, 1, 50) == 1 &&
	       read(port_, answer_, sizeof(answer_)) > 0)
		;
	/* An error only means that an earlier user negotiated already. */
	ask("{\"execute\":\"qmp_capabilities\"}");
	return 0;
}

int qmp(const char *command)
{
	if (ready() == 0 && ask(command) == 0)
		return 0;
	printf("# qmp: %s: %s\n", command, answer_);
	return -1;
}

int qmp_set(const char *property, long long value)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "{\"execute\":\"qom-set\",\"arguments\":{\"path\":\"/machine/peripheral/axl0\","
		 "\"property\":\"%s\",\"value\":%lld}}", property, value);
	return qmp(command);
}

long long qmp_get(const char *property)
{
	char command[256], *value;

	snprintf(command, sizeof(command),
		 "{\"execute\":\"qom-get\",\"arguments\":{\"path\":\"/machine/peripheral/axl0\","
		 "\"property\":\"%s\"}}", property);
	if (ready() || ask(command))
		return -1;
	value = strstr(answer_, "\"return\":");
	return value ? atoll(value + 9) : -1;
}

int qmp_bus_error(const char *error)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "{\"execute\":\"human-monitor-command\",\"arguments\":{\"command-line\":"
		 "\"pcie_aer_inject_error axl0 %s\"}}", error);
	return qmp(command);
}

int qmp_unplug(void)
{
	return qmp("{\"execute\":\"device_del\",\"arguments\":{\"id\":\"axl0\"}}");
}

int qmp_plug(void)
{
	return qmp("{\"execute\":\"device_add\",\"arguments\":{\"driver\":\"axl\","
		   "\"id\":\"axl0\",\"bus\":\"axl-rp0\"}}");
}

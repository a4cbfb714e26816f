// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: /sys/class/axl/axlN.
 *
 * One value per file; docs/driver.md describes each. The link's current and maximum state are the
 * PCI core's own files in the parent, current_link_speed and so on.
 */
#include <linux/kstrtox.h>

#include "axl_memory.h"
#include "axl_tools.h"
#include "axl_tracing.h"

static ssize_t hw_version_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct axl_device *axl = to_axl(dev);

	return sysfs_emit(page, "%u.%u\n", axl->hw_version >> 16, axl->hw_version & 0xffff);
}
static DEVICE_ATTR_RO(hw_version);

static ssize_t uapi_version_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u\n", AXL_UAPI_VERSION);
}
static DEVICE_ATTR_RO(uapi_version);

static ssize_t clock_hz_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%llu\n", to_axl(dev)->clock_hz);
}
static DEVICE_ATTR_RO(clock_hz);

static ssize_t dram_bytes_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%llu\n", to_axl(dev)->dram.end);
}
static DEVICE_ATTR_RO(dram_bytes);

static ssize_t dram_free_bytes_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct axl_device *axl = to_axl(dev);
	u64 bytes;

	mutex_lock(&axl->lock);
	bytes = axl->dram.free_bytes;
	mutex_unlock(&axl->lock);
	return sysfs_emit(page, "%llu\n", bytes);
}
static DEVICE_ATTR_RO(dram_free_bytes);

static ssize_t host_bytes_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%lld\n", (s64)atomic64_read(&to_axl(dev)->host_bytes));
}
static DEVICE_ATTR_RO(host_bytes);

static ssize_t user_host_bytes_max_show(struct device *dev, struct device_attribute *attr,
					char *page)
{
	return sysfs_emit(page, "%llu\n", axl_user_host_limit());
}
static DEVICE_ATTR_RO(user_host_bytes_max);

static ssize_t user_contexts_max_show(struct device *dev, struct device_attribute *attr,
				      char *page)
{
	return sysfs_emit(page, "%llu\n", axl_user_limit(to_axl(dev)->num_contexts));
}
static DEVICE_ATTR_RO(user_contexts_max);

static ssize_t user_queues_max_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%llu\n", axl_user_limit(to_axl(dev)->num_queues));
}
static DEVICE_ATTR_RO(user_queues_max);

static ssize_t user_dram_bytes_max_show(struct device *dev, struct device_attribute *attr,
					char *page)
{
	return sysfs_emit(page, "%llu\n", axl_user_limit(to_axl(dev)->dram.end));
}
static DEVICE_ATTR_RO(user_dram_bytes_max);

static ssize_t user_scratch_bytes_max_show(struct device *dev, struct device_attribute *attr,
					   char *page)
{
	return sysfs_emit(page, "%llu\n", axl_user_limit(to_axl(dev)->scratch_bytes));
}
static DEVICE_ATTR_RO(user_scratch_bytes_max);

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%s\n", axl_state_name(to_axl(dev)));
}
static DEVICE_ATTR_RO(state);

static ssize_t trace_commands_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_axl(dev)->cmd_trace.on));
}

static ssize_t trace_commands_store(struct device *dev, struct device_attribute *attr,
				    const char *page, size_t count)
{
	bool on;
	int err;

	err = kstrtobool(page, &on);
	if (!err)
		err = axl_cmd_trace_set(to_axl(dev), on);
	return err ? err : count;
}
static DEVICE_ATTR_RW(trace_commands);

static struct attribute *axl_attrs[] = {
	&dev_attr_hw_version.attr,
	&dev_attr_uapi_version.attr,
	&dev_attr_clock_hz.attr,
	&dev_attr_dram_bytes.attr,
	&dev_attr_dram_free_bytes.attr,
	&dev_attr_host_bytes.attr,
	&dev_attr_user_host_bytes_max.attr,
	&dev_attr_user_contexts_max.attr,
	&dev_attr_user_queues_max.attr,
	&dev_attr_user_dram_bytes_max.attr,
	&dev_attr_user_scratch_bytes_max.attr,
	&dev_attr_state.attr,
	&dev_attr_trace_commands.attr,
	NULL
};

static const struct attribute_group axl_group = { .attrs = axl_attrs };

struct axl_stat_attr {
	struct device_attribute attr;
	enum axl_stat stat;
};

static ssize_t axl_stat_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct axl_stat_attr *stat = container_of(attr, struct axl_stat_attr, attr);

	return sysfs_emit(page, "%lld\n", (s64)atomic64_read(&to_axl(dev)->stats[stat->stat]));
}

static const char *const axl_stat_names[] = { AXL_STATS(AXL_STAT_NAME_) };
static struct axl_stat_attr axl_stats[AXL_NUM_STATS];
static struct attribute *axl_stat_attrs[AXL_NUM_STATS + 1];

static const struct attribute_group axl_stat_group = {
	.name = "stats",
	.attrs = axl_stat_attrs,
};

const struct attribute_group *axl_dev_groups[] = {
	&axl_group,
	&axl_stat_group,
	NULL
};

void axl_sysfs_init(void)
{
	u32 i;

	for (i = 0; i < AXL_NUM_STATS; i++) {
		struct attribute *attr = &axl_stats[i].attr.attr;

		sysfs_attr_init(attr);
		attr->name = axl_stat_names[i];
		attr->mode = 0444;
		axl_stats[i].attr.show = axl_stat_show;
		axl_stats[i].stat = i;
		axl_stat_attrs[i] = attr;
	}
}

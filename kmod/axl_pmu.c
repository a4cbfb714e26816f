// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: the device's counters as a perf PMU, "axl_N".
 *
 *   perf stat -a -e axl_0/matrix_busy/ ...
 *   perf record -e '{cpu-clock,axl_0/matrix_busy/}:S' -C 0 ...
 *
 * Counters belong to the device, not to a task or a CPU: events count system
 * wide, on one CPU that the cpumask attribute names. Events do not overflow by
 * themselves; they are read with a sampling group leader.
 *
 * perf keeps a PMU's address in its open events, so a PMU outlives its device
 * until the last event is closed, and its struct until the module goes.
 */
#include <linux/cpuhotplug.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "axl_tools.h"

struct axl_pmu {
	struct pmu pmu;
	struct axl_device *axl;		/* referenced while users > 0 */
	refcount_t users;		/* events, and the device while it is bound */
	unsigned int cpu;
	struct hlist_node node;
	struct list_head link;		/* axl_pmus */
	struct work_struct unregister;
	char name[16];
};

static int axl_pmu_cpuhp;
static LIST_HEAD(axl_pmus);
static DEFINE_MUTEX(axl_pmus_lock);	/* axl_pmus */

#define to_axl_pmu(p) container_of(p, struct axl_pmu, pmu)

static void axl_pmu_unregister_work(struct work_struct *work)
{
	struct axl_pmu *pmu = container_of(work, struct axl_pmu, unregister);

	cpuhp_state_remove_instance_nocalls(axl_pmu_cpuhp, &pmu->node);
	perf_pmu_unregister(&pmu->pmu);
	put_device(&pmu->axl->dev);
}

static void axl_pmu_put(struct axl_pmu *pmu)
{
	if (refcount_dec_and_test(&pmu->users))
		queue_work(system_long_wq, &pmu->unregister);
}

static void axl_pmu_event_destroy(struct perf_event *event)
{
	axl_pmu_put(to_axl_pmu(event->pmu));
}

static int axl_pmu_event_init(struct perf_event *event)
{
	struct axl_pmu *pmu = to_axl_pmu(event->pmu);

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (is_sampling_event(event) || event->attach_state & PERF_ATTACH_TASK || event->cpu < 0)
		return -EINVAL;
	if (event->attr.config >= pmu->axl->num_counters || event->attr.config1 ||
	    event->attr.config2)
		return -EINVAL;
	if (READ_ONCE(pmu->axl->closed) || !refcount_inc_not_zero(&pmu->users))
		return -ENODEV;
	event->cpu = pmu->cpu;
	event->destroy = axl_pmu_event_destroy;
	return 0;
}

static void axl_pmu_read(struct perf_event *event)
{
	struct axl_device *axl = to_axl_pmu(event->pmu)->axl;
	u64 now, before, epoch;

	/* If the device is gone, the last value stays. */
	if (axl_counter_now(axl, event->attr.config, &now, &epoch))
		return;
	before = local64_xchg(&event->hw.prev_count, now);
	/* Counts since the last read were lost with the reset. */
	if (epoch != event->hw.config_base)
		before = 0;
	event->hw.config_base = epoch;
	local64_add(now - before, &event->count);
}

static void axl_pmu_start(struct perf_event *event, int flags)
{
	u64 now = 0, epoch = 0;

	axl_counter_now(to_axl_pmu(event->pmu)->axl, event->attr.config, &now, &epoch);
	local64_set(&event->hw.prev_count, now);
	event->hw.config_base = epoch;
	event->hw.state = 0;
}

static void axl_pmu_stop(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	axl_pmu_read(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int axl_pmu_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		axl_pmu_start(event, flags);
	return 0;
}

static void axl_pmu_del(struct perf_event *event, int flags)
{
	axl_pmu_stop(event, flags);
}

/* Each counter has three files: its number, its unit, its scale. */
struct axl_event_attr {
	struct device_attribute attr;
	u32 counter;
	const char *text;		/* NULL = the counter's number */
	char name[40];
};

static const char *const axl_counter_names[] = { AXL_COUNTERS(AXL_COUNTER_NAME_) };
static const char *const axl_counter_units[] = { AXL_COUNTERS(AXL_COUNTER_UNIT_) };
static struct axl_event_attr axl_events[3 * AXL_NUM_COUNTERS];
static struct attribute *axl_event_attrs[ARRAY_SIZE(axl_events) + 1];

static ssize_t axl_event_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct axl_event_attr *event = container_of(attr, struct axl_event_attr, attr);

	if (event->text)
		return sysfs_emit(page, "%s\n", event->text);
	return sysfs_emit(page, "event=%#x\n", event->counter);
}

static void axl_event_fill(u32 i, u32 counter, const char *suffix, const char *text)
{
	struct axl_event_attr *event = &axl_events[i];

	snprintf(event->name, sizeof(event->name), "%s%s", axl_counter_names[counter], suffix);
	event->counter = counter;
	event->text = text;
	sysfs_attr_init(&event->attr.attr);
	event->attr.attr.name = event->name;
	event->attr.attr.mode = 0444;
	event->attr.show = axl_event_show;
	axl_event_attrs[i] = &event->attr.attr;
}

static void axl_events_init(void)
{
	u32 i;

	for (i = 0; i < AXL_NUM_COUNTERS; i++) {
		axl_event_fill(3 * i, i, "", NULL);
		axl_event_fill(3 * i + 1, i, ".unit", axl_counter_units[i]);
		axl_event_fill(3 * i + 2, i, ".scale", "1");
	}
}

/* A device may have fewer counters than this driver knows. */
static umode_t axl_event_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	struct pmu *pmu = dev_get_drvdata(kobj_to_dev(kobj));
	struct axl_event_attr *event = container_of(attr, struct axl_event_attr, attr.attr);

	return event->counter < to_axl_pmu(pmu)->axl->num_counters ? attr->mode : 0;
}

static const struct attribute_group axl_event_group = {
	.name = "events",
	.attrs = axl_event_attrs,
	.is_visible = axl_event_visible,
};

PMU_FORMAT_ATTR(event, "config:0-7");
static struct attribute *axl_format_attrs[] = { &format_attr_event.attr, NULL };
static const struct attribute_group axl_format_group = {
	.name = "format",
	.attrs = axl_format_attrs,
};

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct pmu *pmu = dev_get_drvdata(dev);

	return sysfs_emit(page, "%*pbl\n", cpumask_pr_args(cpumask_of(to_axl_pmu(pmu)->cpu)));
}
static DEVICE_ATTR_RO(cpumask);
static struct attribute *axl_cpumask_attrs[] = { &dev_attr_cpumask.attr, NULL };
static const struct attribute_group axl_cpumask_group = { .attrs = axl_cpumask_attrs };

static const struct attribute_group *axl_pmu_groups[] = {
	&axl_event_group,
	&axl_format_group,
	&axl_cpumask_group,
	NULL
};

static int axl_pmu_cpu_offline(unsigned int cpu, struct hlist_node *node)
{
	struct axl_pmu *pmu = hlist_entry(node, struct axl_pmu, node);
	unsigned int target;

	if (cpu != pmu->cpu)
		return 0;
	target = cpumask_any_but(cpu_online_mask, cpu);
	if (target < nr_cpu_ids) {
		perf_pmu_migrate_context(&pmu->pmu, cpu, target);
		pmu->cpu = target;
	}
	return 0;
}

int axl_pmu_add_device(struct axl_device *axl)
{
	struct axl_pmu *pmu;
	int err;

	pmu = kzalloc(sizeof(*pmu), GFP_KERNEL);
	if (!pmu)
		return -ENOMEM;
	pmu->axl = axl;
	refcount_set(&pmu->users, 1);
	INIT_WORK(&pmu->unregister, axl_pmu_unregister_work);
	snprintf(pmu->name, sizeof(pmu->name), "axl_%u", axl->index);
	pmu->cpu = cpumask_local_spread(0, dev_to_node(&axl->pdev->dev));
	pmu->pmu = (struct pmu){
		.module = THIS_MODULE,
		.task_ctx_nr = perf_invalid_context,
		.capabilities = PERF_PMU_CAP_NO_EXCLUDE,
		.attr_groups = axl_pmu_groups,
		.event_init = axl_pmu_event_init,
		.add = axl_pmu_add,
		.del = axl_pmu_del,
		.start = axl_pmu_start,
		.stop = axl_pmu_stop,
		.read = axl_pmu_read,
	};
	err = cpuhp_state_add_instance_nocalls(axl_pmu_cpuhp, &pmu->node);
	if (err)
		goto free;
	err = perf_pmu_register(&pmu->pmu, pmu->name, -1);
	if (err)
		goto cpuhp;
	get_device(&axl->dev);
	axl->pmu = pmu;
	mutex_lock(&axl_pmus_lock);
	list_add_tail(&pmu->link, &axl_pmus);
	mutex_unlock(&axl_pmus_lock);
	return 0;

cpuhp:
	cpuhp_state_remove_instance_nocalls(axl_pmu_cpuhp, &pmu->node);
free:
	kfree(pmu);
	return err;
}

/* No new event can be opened; open events return their last value. */
void axl_pmu_remove_device(struct axl_device *axl)
{
	struct axl_pmu *pmu = axl->pmu;

	axl->pmu = NULL;
	if (!pmu)
		return;
	axl_pmu_put(pmu);
	/* Usually no event is open, so the name is free again when this returns. */
	flush_work(&pmu->unregister);
}

int axl_pmu_init(void)
{
	int err;

	axl_events_init();
	err = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/axl:online", NULL,
				      axl_pmu_cpu_offline);
	if (err < 0)
		return err;
	axl_pmu_cpuhp = err;
	return 0;
}

/* The module cannot be unloaded while an event is open, so all PMUs are being unregistered. */
void axl_pmu_exit(void)
{
	struct axl_pmu *pmu, *next;

	list_for_each_entry_safe(pmu, next, &axl_pmus, link) {
		flush_work(&pmu->unregister);
		kfree(pmu);
	}
	cpuhp_remove_multi_state(axl_pmu_cpuhp);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers one error of each kind that the debug kernel must report. The part "checkers" of
 * check-debug fails if one of them passes unnoticed, since a kernel built without a checker would
 * find no bugs.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

static char *what = "";
module_param(what, charp, 0);
MODULE_PARM_DESC(what, "lockdep, atomic, odebug, dma, warn, leak or kasan");

static DEFINE_MUTEX(provoke_a);
static DEFINE_MUTEX(provoke_b);
static DEFINE_SPINLOCK(provoke_lock);

struct provoke_timer {
	struct timer_list timer;
};

static void provoke_expire(struct timer_list *timer)
{
}

static void provoke_lockdep(void)
{
	mutex_lock(&provoke_a);
	mutex_lock(&provoke_b);
	mutex_unlock(&provoke_b);
	mutex_unlock(&provoke_a);
	mutex_lock(&provoke_b);
	mutex_lock(&provoke_a);
	mutex_unlock(&provoke_a);
	mutex_unlock(&provoke_b);
}

static void provoke_atomic(void)
{
	spin_lock(&provoke_lock);
	msleep(20);
	spin_unlock(&provoke_lock);
}

/* Frees a running timer; DEBUG_OBJECTS prevents the crash. */
static int provoke_odebug(void)
{
	struct provoke_timer *it = kzalloc(sizeof(*it), GFP_KERNEL);

	if (!it)
		return -ENOMEM;
	timer_setup(&it->timer, provoke_expire, 0);
	mod_timer(&it->timer, jiffies + 1000 * HZ);
	kfree(it);
	return 0;
}

/* Unmaps an address that was never mapped. */
static int provoke_dma(void)
{
	struct pci_dev *pdev = pci_get_device(0x1234, 0xacc1, NULL);

	if (!pdev)
		return -ENODEV;
	dma_unmap_page(&pdev->dev, 0x1234000, PAGE_SIZE, DMA_TO_DEVICE);
	pci_dev_put(pdev);
	return 0;
}

/* Leaks several blocks, because the stack may by chance hold the address of one. */
static int provoke_leak(void)
{
	int i;

	for (i = 0; i < 16; i++)
		if (!kmalloc(1000, GFP_KERNEL))
			return -ENOMEM;
	return 0;
}

static int provoke_kasan(void)
{
	char *freed = kmalloc(100, GFP_KERNEL);

	if (!freed)
		return -ENOMEM;
	kfree(freed);
	return READ_ONCE(*freed) & 1;
}

static int __init provoke_init(void)
{
	if (!strcmp(what, "lockdep"))
		provoke_lockdep();
	else if (!strcmp(what, "atomic"))
		provoke_atomic();
	else if (!strcmp(what, "odebug"))
		provoke_odebug();
	else if (!strcmp(what, "dma"))
		provoke_dma();
	else if (!strcmp(what, "warn"))
		WARN(1, "provoked\n");
	else if (!strcmp(what, "leak"))
		provoke_leak();
	else if (!strcmp(what, "kasan"))
		provoke_kasan();
	else
		return -EINVAL;
	return 0;
}

static void __exit provoke_exit(void)
{
}

module_init(provoke_init);
module_exit(provoke_exit);
MODULE_DESCRIPTION("What a debug kernel must complain of");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: quotas.
 *
 * Every user may open the node. Host memory of all users on all devices is limited to host_percent
 * of the machine's memory, and to less when the machine is short of it. One user gets at most
 * user_percent of that and of a device's contexts, queues and memory, so that some is left for
 * others; CAP_SYS_RESOURCE lifts this limit. The user who opened a file is charged for all objects
 * of the file.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "axl_memory.h"

#define AXL_MAX_USER_BUFS	(4 * AXL_MAX_BUFS)	/* on a device */
#define AXL_RESERVE_PARTS	16	/* this part of the machine's memory stays available */

static unsigned int host_percent = 50;
module_param(host_percent, uint, 0644);
MODULE_PARM_DESC(host_percent,
		 "of the machine's memory, most that all users have (default 50)");

static unsigned int user_percent = 75;
module_param(user_percent, uint, 0644);
MODULE_PARM_DESC(user_percent,
		 "of that and of a device, most that one user has (default 75)");

static atomic64_t axl_host_bytes;	/* of all users, on all devices */

static int axl_host_bytes_get(char *page, const struct kernel_param *param)
{
	return sysfs_emit(page, "%lld\n", (s64)atomic64_read(&axl_host_bytes));
}

static const struct kernel_param_ops axl_host_bytes_ops = { .get = axl_host_bytes_get };
module_param_cb(host_bytes, &axl_host_bytes_ops, NULL, 0444);
MODULE_PARM_DESC(host_bytes, "host memory that users have now, on all devices");

/* A user of any device. It is found by uid alone, so it does not refer to a cred. */
struct axl_user {
	struct list_head link;		/* axl_users */
	unsigned int shares;		/* of devices, axl_users_lock */
	kuid_t uid;
	atomic64_t host_bytes;
};

static DEFINE_MUTEX(axl_users_lock);
static LIST_HEAD(axl_users);

static u64 axl_percent(u64 whole, unsigned int percent)
{
	return mul_u64_u64_div_u64(whole, min(percent, 100u), 100);
}

static u64 axl_machine_bytes(void)
{
	return (u64)totalram_pages() << PAGE_SHIFT;
}

static u64 axl_host_limit(void)
{
	return axl_percent(axl_machine_bytes(), READ_ONCE(host_percent));
}

/* One user's limit out of a total, but at least 1. */
u64 axl_user_limit(u64 whole)
{
	return max_t(u64, axl_percent(whole, READ_ONCE(user_percent)), min_t(u64, whole, 1));
}

u64 axl_user_host_limit(void)
{
	return axl_user_limit(axl_host_limit());
}

static struct axl_user *axl_user_get(kuid_t uid)
{
	struct axl_user *user;

	mutex_lock(&axl_users_lock);
	list_for_each_entry(user, &axl_users, link)
		if (uid_eq(user->uid, uid))
			goto found;
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		goto unlock;
	user->uid = uid;
	list_add(&user->link, &axl_users);
found:
	user->shares++;
unlock:
	mutex_unlock(&axl_users_lock);
	return user;
}

static void axl_user_put(struct axl_user *user)
{
	mutex_lock(&axl_users_lock);
	if (!--user->shares) {
		list_del(&user->link);
		kfree(user);
	}
	mutex_unlock(&axl_users_lock);
}

/* The share for a file being opened; axl->files_lock held. */
struct axl_share *axl_share_get(struct axl_device *axl, const struct cred *cred)
{
	struct axl_share *share;

	lockdep_assert_held(&axl->files_lock);
	list_for_each_entry(share, &axl->shares, link) {
		if (uid_eq(share->cred->uid, cred->uid)) {
			share->files++;
			return share;
		}
	}
	share = kzalloc(sizeof(*share), GFP_KERNEL_ACCOUNT);
	if (!share)
		return NULL;
	share->user = axl_user_get(cred->uid);
	if (!share->user) {
		kfree(share);
		return NULL;
	}
	share->axl = axl;
	share->cred = get_cred(cred);
	share->files = 1;
	list_add(&share->link, &axl->shares);
	return share;
}

/* Called when nothing is charged to the file any more; axl->files_lock held. */
void axl_share_put(struct axl_share *share)
{
	lockdep_assert_held(&share->axl->files_lock);
	if (--share->files)
		return;
	WARN_ON_ONCE(share->ctxs || share->queues || share->bufs || share->dram_bytes ||
		     share->scratch_bytes);
	list_del(&share->link);
	axl_user_put(share->user);
	put_cred(share->cred);
	kfree(share);
}

/* Whether the limit is exceeded and the caller must respect it. */
static bool axl_share_ends(struct axl_share *share, u64 now, u64 limit)
{
	if (now <= limit || capable(CAP_SYS_RESOURCE))
		return false;
	axl_count(share->axl, AXL_STAT_QUOTA_REFUSALS);
	return true;
}

/* Charges host memory before it is allocated or pinned. -ENOMEM as for RLIMIT_MEMLOCK. */
int axl_share_charge_host(struct axl_share *share, u64 bytes)
{
	struct axl_user *user = share->user;

	if (atomic64_add_return(bytes, &axl_host_bytes) > axl_host_limit()) {
		axl_count(share->axl, AXL_STAT_QUOTA_REFUSALS);
		goto machine;
	}
	if (axl_share_ends(share, atomic64_add_return(bytes, &user->host_bytes),
			   axl_user_host_limit()))
		goto user;
	atomic64_add(bytes, &share->axl->host_bytes);
	return 0;

user:
	atomic64_sub(bytes, &user->host_bytes);
machine:
	atomic64_sub(bytes, &axl_host_bytes);
	return -ENOMEM;
}

void axl_share_uncharge_host(struct axl_share *share, u64 bytes)
{
	atomic64_sub(bytes, &share->axl->host_bytes);
	atomic64_sub(bytes, &share->user->host_bytes);
	atomic64_sub(bytes, &axl_host_bytes);
}

/*
 * Whether the machine can spare that much memory. Otherwise a user could take the last page, and
 * the next page fault of any process would invoke the OOM killer.
 */
bool axl_machine_has(u64 bytes)
{
	s64 spare = (s64)si_mem_available() - (s64)(totalram_pages() / AXL_RESERVE_PARTS);

	return spare > 0 && bytes <= (u64)spare << PAGE_SHIFT;
}

/* Charges a context with its queues before its memory is allocated; axl->lock held. */
int axl_share_take_ctx(struct axl_share *share, u32 queues)
{
	struct axl_device *axl = share->axl;

	lockdep_assert_held(&axl->lock);
	if (axl_share_ends(share, share->ctxs + 1, axl_user_limit(axl->num_contexts)) ||
	    axl_share_ends(share, share->queues + queues, axl_user_limit(axl->num_queues)))
		return -EDQUOT;
	share->ctxs++;
	share->queues += queues;
	return 0;
}

void axl_share_give_ctx(struct axl_share *share, u32 queues)
{
	lockdep_assert_held(&share->axl->lock);
	share->ctxs--;
	share->queues -= queues;
}

/* Charges a buffer and its bytes of device memory; axl->lock held. */
int axl_share_take_buf(struct axl_share *share, u32 kind, u64 bytes)
{
	struct axl_device *axl = share->axl;

	lockdep_assert_held(&axl->lock);
	if (axl_share_ends(share, share->bufs + 1, AXL_MAX_USER_BUFS))
		return -EDQUOT;
	if (kind == AXL_BUF_DEVICE &&
	    axl_share_ends(share, share->dram_bytes + bytes, axl_user_limit(axl->dram.end)))
		return -EDQUOT;
	if (kind == AXL_BUF_SCRATCH &&
	    axl_share_ends(share, share->scratch_bytes + bytes,
			   axl_user_limit(axl->scratch_bytes)))
		return -EDQUOT;
	share->bufs++;
	share->dram_bytes += kind == AXL_BUF_DEVICE ? bytes : 0;
	share->scratch_bytes += kind == AXL_BUF_SCRATCH ? bytes : 0;
	return 0;
}

void axl_share_give_buf(struct axl_share *share, u32 kind, u64 bytes)
{
	lockdep_assert_held(&share->axl->lock);
	share->bufs--;
	share->dram_bytes -= kind == AXL_BUF_DEVICE ? bytes : 0;
	share->scratch_bytes -= kind == AXL_BUF_SCRATCH ? bytes : 0;
}

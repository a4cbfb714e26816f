// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: a job's completion as a file descriptor.
 *
 * poll() reports POLLIN when the job is done, and POLLERR too if it failed; read() returns struct
 * axl_fence_status. A fence refers to its queue only until it is signalled, so it may outlive
 * context, file and device.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "axl_completion.h"
#include "axl_trace_job.h"

struct axl_fence {
	struct kref ref;		/* the file's and the queue's */
	struct list_head link;		/* queue->fences, hwq->lock */
	wait_queue_head_t wait;
	bool done;			/* released by the signaller, acquired by readers */
	struct axl_fence_status status;
};

static void axl_fence_free(struct kref *ref)
{
	kfree(container_of(ref, struct axl_fence, ref));
}

static int axl_fence_release(struct inode *inode, struct file *filp)
{
	struct axl_fence *fence = filp->private_data;

	kref_put(&fence->ref, axl_fence_free);
	return 0;
}

static __poll_t axl_fence_poll(struct file *filp, poll_table *wait)
{
	struct axl_fence *fence = filp->private_data;

	poll_wait(filp, &fence->wait, wait);
	if (!smp_load_acquire(&fence->done))	/* pairs with axl_fence_signal() */
		return 0;
	return fence->status.status == AXL_ST_OK ? EPOLLIN | EPOLLRDNORM :
						   EPOLLIN | EPOLLRDNORM | EPOLLERR;
}

static ssize_t axl_fence_read(struct file *filp, char __user *user, size_t count, loff_t *pos)
{
	struct axl_fence *fence = filp->private_data;
	int err;

	if (count < sizeof(fence->status))
		return -EINVAL;
	if (filp->f_flags & O_NONBLOCK) {
		if (!smp_load_acquire(&fence->done))	/* pairs with axl_fence_signal() */
			return -EAGAIN;
	} else {
		err = wait_event_interruptible(fence->wait,
					       /* pairs with axl_fence_signal() */
					       smp_load_acquire(&fence->done));
		if (err)
			return err;
	}
	if (copy_to_user(user, &fence->status, sizeof(fence->status)))
		return -EFAULT;
	return sizeof(fence->status);
}

static const struct file_operations axl_fence_fops = {
	.owner = THIS_MODULE,
	.release = axl_fence_release,
	.poll = axl_fence_poll,
	.read = axl_fence_read,
	.llseek = axl_llseek,
};

/* Reserves the descriptor; the caller of the ioctl handler installs or releases it. */
struct axl_fence *axl_fence_create(struct axl_ucmd *ucmd)
{
	struct axl_fence *fence;
	struct file *file;
	int fd;

	fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);
	if (!fence)
		return ERR_PTR(-ENOMEM);
	kref_init(&fence->ref);
	INIT_LIST_HEAD(&fence->link);
	init_waitqueue_head(&fence->wait);
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		kfree(fence);
		return ERR_PTR(fd);
	}
	file = anon_inode_getfile("[axl-fence]", &axl_fence_fops, fence, O_RDONLY);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		kfree(fence);
		return ERR_CAST(file);
	}
	ucmd->fence = file;
	ucmd->fence_fd = fd;
	return fence;
}

/* hwq->lock is held, so sequences are added in order. */
void axl_fence_add(struct axl_queue *q, struct axl_fence *fence, u64 seq)
{
	const struct axl_job *job = &q->jobs[seq & (AXL_SQ_ENTRIES - 1)];

	lockdep_assert_held(&q->hwq->lock);
	kref_get(&fence->ref);
	fence->status.sequence = seq;
	list_add_tail(&fence->link, &q->fences);
	trace_axl_fence_create(q->ctx->axl->index, q->ctx->hw, q->hwq->id, job->job, seq,
			       job->correlation);
}

static void axl_fence_signal(struct axl_queue *q, struct axl_fence *fence)
{
	u64 seq = fence->status.sequence;
	struct axl_job *job = &q->jobs[seq & (AXL_SQ_ENTRIES - 1)];

	fence->status.status = axl_seq_status(q, seq, &fence->status.error_index);
	if (job->seq == seq)
		fence->status.device_ticks = job->device_ticks;
	trace_axl_fence_signal(q->ctx->axl->index, q->ctx->hw, q->hwq->id, job->job, seq,
			       job->correlation, fence->status.status,
			       fence->status.device_ticks);
	smp_store_release(&fence->done, true);	/* pairs with the readers */
	wake_up_all(&fence->wait);
	list_del_init(&fence->link);
	kref_put(&fence->ref, axl_fence_free);
}

void axl_fences_signal(struct axl_queue *q)
{
	struct axl_fence *fence, *next;

	lockdep_assert_held(&q->hwq->lock);
	list_for_each_entry_safe(fence, next, &q->fences, link) {
		if (fence->status.sequence > q->completed)
			break;
		axl_fence_signal(q, fence);
	}
}

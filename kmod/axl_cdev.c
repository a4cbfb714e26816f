// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: /dev/axlN.
 *
 * All ioctls take one path through one table: the argument's own size field is the size that user
 * space passed, the table has the required and the known size. Handlers get a complete, zero-padded
 * struct, never the user's pointer to it.
 */
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/idr.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "axl_entry.h"
#include "axl_lifetime.h"
#include "axl_memory.h"
#include "axl_recovery.h"
#include "axl_submission.h"
#include "axl_tools.h"
#include "axl_tracing.h"

#define AXL_MAX_DEVICES 256

static dev_t axl_devt;
static DEFINE_IDA(axl_ida);

union axl_cmd_buffer {
	struct axl_info info;
	struct axl_ctx_create ctx_create;
	struct axl_ctx_destroy ctx_destroy;
	struct axl_buf_create buf_create;
	struct axl_buf_destroy buf_destroy;
	struct axl_submit submit;
	struct axl_wait wait;
	struct axl_counters_read counters;
	struct axl_clock_sample clock;
	struct axl_trace_open trace_open;
	struct axl_trace_close trace_close;
	struct axl_jobs_trace jobs_trace;
	struct axl_join join;
	struct axl_clients clients;
};

static int axl_ioctl_join(struct axl_ucmd *ucmd);

struct axl_ioctl {
	u32 size;			/* of the struct this kernel knows */
	u32 min_size;			/* of its first version */
	bool enters;			/* the handler calls axl_enter() itself */
	int (*run)(struct axl_ucmd *ucmd);
};

#define AXL_OP(_ioctl, _run, _struct, _min_size, _enters)		\
	[_IOC_NR(_ioctl) - _IOC_NR(AXL_IOCTL_INFO)] = {			\
		.size = sizeof(_struct),				\
		.min_size = _min_size,					\
		.enters = _enters,					\
		.run = _run,						\
	}

static const struct axl_ioctl axl_ioctls[] = {
	AXL_OP(AXL_IOCTL_INFO, axl_ioctl_info, struct axl_info,
	       offsetofend(struct axl_info, pci_name), false),
	AXL_OP(AXL_IOCTL_CTX_CREATE, axl_ioctl_ctx_create, struct axl_ctx_create,
	       offsetofend(struct axl_ctx_create, reserved), false),
	AXL_OP(AXL_IOCTL_CTX_DESTROY, axl_ioctl_ctx_destroy, struct axl_ctx_destroy,
	       offsetofend(struct axl_ctx_destroy, ctx), false),
	AXL_OP(AXL_IOCTL_BUF_CREATE, axl_ioctl_buf_create, struct axl_buf_create,
	       offsetofend(struct axl_buf_create, device_addr), true),
	AXL_OP(AXL_IOCTL_BUF_DESTROY, axl_ioctl_buf_destroy, struct axl_buf_destroy,
	       offsetofend(struct axl_buf_destroy, handle), false),
	AXL_OP(AXL_IOCTL_SUBMIT, axl_ioctl_submit, struct axl_submit,
	       offsetofend(struct axl_submit, fence_fd), true),
	AXL_OP(AXL_IOCTL_WAIT, axl_ioctl_wait, struct axl_wait,
	       offsetofend(struct axl_wait, error_index), false),
	AXL_OP(AXL_IOCTL_COUNTERS, axl_ioctl_counters, struct axl_counters_read,
	       offsetofend(struct axl_counters_read, device_ticks), true),
	AXL_OP(AXL_IOCTL_CLOCK_SAMPLE, axl_ioctl_clock_sample, struct axl_clock_sample,
	       offsetofend(struct axl_clock_sample, ptm_host_ns), false),
	AXL_OP(AXL_IOCTL_TRACE_OPEN, axl_ioctl_trace_open, struct axl_trace_open,
	       offsetofend(struct axl_trace_open, wait_ps), false),
	AXL_OP(AXL_IOCTL_TRACE_CLOSE, axl_ioctl_trace_close, struct axl_trace_close,
	       offsetofend(struct axl_trace_close, reserved), false),
	AXL_OP(AXL_IOCTL_JOBS_TRACE, axl_ioctl_jobs_trace, struct axl_jobs_trace,
	       offsetofend(struct axl_jobs_trace, jobs), false),
	AXL_OP(AXL_IOCTL_JOIN, axl_ioctl_join, struct axl_join,
	       offsetofend(struct axl_join, reserved), false),
	AXL_OP(AXL_IOCTL_CLIENTS, axl_ioctl_clients, struct axl_clients,
	       offsetofend(struct axl_clients, reserved), true),
};

static u32 axl_ioctl_index(unsigned int cmd)
{
	return _IOC_NR(cmd) - _IOC_NR(AXL_IOCTL_INFO);
}

static int axl_run(const struct axl_ioctl *op, struct axl_ucmd *ucmd)
{
	int ret, idx;

	if (op->enters)
		return op->run(ucmd);
	ret = axl_enter(ucmd->file->axl, &idx);
	if (ret)
		return ret;
	ret = op->run(ucmd);
	axl_exit(ucmd->file->axl, idx);
	return ret;
}

/* Installs the fence's descriptor, or releases it if the call failed. */
static void axl_fence_install(struct axl_ucmd *ucmd, int ret)
{
	if (ret) {
		put_unused_fd(ucmd->fence_fd);
		fput(ucmd->fence);
	} else {
		fd_install(ucmd->fence_fd, ucmd->fence);
	}
}

static __always_inline long axl_submit_answer(struct axl_file *file, struct axl_submit *cmd,
					      struct axl_submit __user *user)
{
	struct axl_ucmd ucmd = { .file = file, .cmd = cmd, .fence_fd = -1 };
	int ret = axl_ioctl_submit(&ucmd);

	if (!ret || ret == -EIO) {
		if (!user_access_begin(user, sizeof(*user)))
			goto unwritten;
		unsafe_put_user(cmd->correlation, &user->correlation, fault);
		unsafe_put_user(cmd->sequence, &user->sequence, fault);
		unsafe_put_user(cmd->job, &user->job, fault);
		unsafe_put_user(cmd->fence_fd, &user->fence_fd, fault);
		user_access_end();
	}
out:
	if (ucmd.fence)
		axl_fence_install(&ucmd, ret);
	return ret;
fault:
	user_access_end();
unwritten:
	ret = -EFAULT;
	goto out;
}

/*
 * The fast path of AXL_IOCTL_SUBMIT, which bypasses the table: a struct of the known size needs no
 * padding, so only its inputs are read and its outputs written. The generic path gives the same
 * results and handles other sizes.
 */
static long axl_fops_submit(struct axl_file *file, struct axl_submit __user *user)
{
	u32 flags, ctx, queue, num_cmds, cmd_bytes;
	u64 cmds, correlation;

	if (!user_access_begin(user, sizeof(*user)))
		return -EFAULT;
	unsafe_get_user(flags, &user->flags, fault);
	unsafe_get_user(ctx, &user->ctx, fault);
	unsafe_get_user(queue, &user->queue, fault);
	unsafe_get_user(cmds, &user->cmds, fault);
	unsafe_get_user(num_cmds, &user->num_cmds, fault);
	unsafe_get_user(cmd_bytes, &user->cmd_bytes, fault);
	unsafe_get_user(correlation, &user->correlation, fault);
	user_access_end();
	return axl_submit_answer(file, &(struct axl_submit) {
			.size = sizeof(*user), .flags = flags, .ctx = ctx, .queue = queue,
			.cmds = cmds, .num_cmds = num_cmds, .cmd_bytes = cmd_bytes,
			.correlation = correlation, .fence_fd = -1 }, user);
fault:
	user_access_end();
	return -EFAULT;
}

static noinline long axl_fops_any(struct file *filp, unsigned int cmd, u32 size, void __user *user)
{
	union axl_cmd_buffer buffer;
	struct axl_ucmd ucmd = { .file = filp->private_data, .cmd = &buffer, .fence_fd = -1 };
	const struct axl_ioctl *op;
	int ret;

	op = &axl_ioctls[array_index_nospec(axl_ioctl_index(cmd), ARRAY_SIZE(axl_ioctls))];
	if (size < op->min_size)
		return -EINVAL;
	/* Checking gigabytes for zero bytes would keep a CPU busy for long. */
	if (size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(ucmd.cmd, op->size, user, size);
	if (ret)
		return ret;

	ret = axl_run(op, &ucmd);

	/* A failed job is a result: its status is copied out along with EIO. */
	if ((!ret || ret == -EIO) && (_IOC_DIR(cmd) & _IOC_READ) &&
	    copy_to_user(user, ucmd.cmd, min(size, op->size)))
		ret = -EFAULT;
	if (ucmd.fence)
		axl_fence_install(&ucmd, ret);
	return ret;
}

static long axl_fops_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct axl_file *file = filp->private_data;
	void __user *user = (void __user *)arg;
	u32 size;

	/* The size in the ioctl number may be that of a later version of the struct. */
	if (_IOC_TYPE(cmd) != AXL_IOCTL_BASE || axl_ioctl_index(cmd) >= ARRAY_SIZE(axl_ioctls))
		return -ENOTTY;
	if (READ_ONCE(file->axl->closed))
		return -ENODEV;
	if (get_user(size, (u32 __user *)user))
		return -EFAULT;
	if (likely(cmd == AXL_IOCTL_SUBMIT && size == sizeof(struct axl_submit)))
		return axl_fops_submit(file, user);
	return axl_fops_any(filp, cmd, size, user);
}

static int axl_fops_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct axl_file *file = filp->private_data;
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	unsigned long page = (offset & ((1ULL << AXL_MMAP_HANDLE_SHIFT) - 1)) >> PAGE_SHIFT;
	u64 handle = offset >> AXL_MMAP_HANDLE_SHIFT;
	int ret, idx;

	ret = axl_enter(file->axl, &idx);
	if (ret)
		return ret;
	down_read(&file->lock);
	if (!handle && file->ring)
		ret = axl_mem_mmap(&file->ring->mem, vma, page);
	else if (!handle && file->driver_ring)
		ret = axl_mem_mmap(&file->axl->driver_ring.mem, vma, page);
	else if (handle && handle < file->num_bufs && file->bufs[handle] &&
		 file->bufs[handle]->kind == AXL_BUF_HOST)
		ret = axl_mem_mmap(&file->bufs[handle]->mem, vma, page);
	else
		ret = -EINVAL;
	up_read(&file->lock);
	axl_exit(file->axl, idx);
	return ret;
}

static __poll_t axl_fops_poll(struct file *filp, poll_table *wait)
{
	struct axl_file *file = filp->private_data;
	struct axl_trace_ring *ring;
	__poll_t events = 0;
	int idx;

	if (axl_enter(file->axl, &idx))
		return EPOLLERR | EPOLLHUP;
	down_read(&file->lock);
	/*
	 * A file without a ring polls ring 0's wait queue; the end of the device wakes all of them.
	 */
	ring = file->ring ? file->ring : &file->axl->rings[AXL_TRACE_RING_DEVICE];
	poll_wait(filp, &ring->wait, wait);
	if (file->driver_ring)
		poll_wait(filp, &file->axl->driver_ring.wait, wait);
	if (file->ring ? axl_ring_readable(file->ring) :
			 file->driver_ring && axl_driver_ring_readable(&file->axl->driver_ring))
		events = EPOLLIN | EPOLLRDNORM;
	up_read(&file->lock);
	if (READ_ONCE(file->axl->closed))
		events |= EPOLLERR | EPOLLHUP;
	axl_exit(file->axl, idx);
	return events;
}

static int axl_fops_open(struct inode *inode, struct file *filp)
{
	struct axl_device *axl = container_of(inode->i_cdev, struct axl_device, cdev);
	struct axl_file *file;

	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;
	file->axl = axl;
	init_rwsem(&file->lock);
	mutex_lock(&axl->files_lock);
	if (READ_ONCE(axl->closed)) {
		mutex_unlock(&axl->files_lock);
		kfree(file);
		return -ENODEV;
	}
	file->share = axl_share_get(axl, filp->f_cred);
	if (!file->share) {
		mutex_unlock(&axl->files_lock);
		kfree(file);
		return -ENOMEM;
	}
	axl_client_open(file);
	get_device(&axl->dev);
	list_add_tail(&file->link, &axl->files);
	mutex_unlock(&axl->files_lock);
	filp->private_data = file;
	return stream_open(inode, filp);
}

/* Releases everything that a file owns on the device. No call on it is running: no locks needed. */
static void axl_file_teardown(struct axl_file *file)
{
	int i;

	if (file->torn)
		return;
	file->torn = true;
	for (i = 0; i < AXL_MAX_CONTEXTS; i++) {
		if (file->ctxs[i])
			axl_ctx_release(file->ctxs[i]);
		file->ctxs[i] = NULL;
	}
	axl_ring_release(file);
	axl_driver_ring_release(file);
	axl_bufs_teardown(file);
}

static int axl_fops_release(struct inode *inode, struct file *filp)
{
	struct axl_file *file = filp->private_data;
	struct axl_device *axl = file->axl;

	mutex_lock(&axl->files_lock);
	list_del(&file->link);
	axl_file_teardown(file);
	axl_client_close(file);
	axl_share_put(file->share);
	mutex_unlock(&axl->files_lock);
	kfree(file);
	put_device(&axl->dev);
	return 0;
}

static const struct file_operations axl_fops = {
	.owner = THIS_MODULE,
	.open = axl_fops_open,
	.release = axl_fops_release,
	.unlocked_ioctl = axl_fops_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = axl_fops_mmap,
	.poll = axl_fops_poll,
	.llseek = axl_llseek,
};

/* Defined here because only the file operations tell whether a file is one of this driver. */
static int axl_ioctl_join(struct axl_ucmd *ucmd)
{
	struct axl_join *cmd = ucmd->cmd;
	struct file *other;
	int err = -EINVAL;

	if (cmd->reserved)
		return -EINVAL;
	other = fget(cmd->fd);
	if (!other)
		return -EINVAL;
	if (other->f_op == &axl_fops)
		err = axl_client_join(ucmd->file, other->private_data, cmd);
	fput(other);
	return err;
}

static char *axl_devnode(axl_devnode_arg *dev, umode_t *mode)
{
	if (mode)
		*mode = 0666;
	return NULL;
}

static void axl_dev_release(struct device *dev)
{
	struct axl_device *axl = to_axl(dev);

	axl_space_fini(&axl->dram);
	axl_space_fini(&axl->scratch);
	cleanup_srcu_struct(&axl->srcu);
	ida_free(&axl_ida, axl->index);
	pci_dev_put(axl->pdev);
	kfree(axl);
}

static struct class axl_class = {
	.name = "axl",
	.devnode = axl_devnode,
	.dev_release = axl_dev_release,
};

static void axl_init_queues(struct axl_device *axl)
{
	u32 i;

	for (i = 0; i < AXL_MAX_QUEUES; i++) {
		axl->hwq[i].axl = axl;
		axl->hwq[i].id = i;
		spin_lock_init(&axl->hwq[i].lock);
	}
	for (i = 0; i < AXL_MAX_TRACE_RINGS; i++)
		axl_ring_init(axl, i);
	axl_driver_ring_init(axl);
	axl_cmd_trace_init(axl);
}

struct axl_device *axl_alloc(struct pci_dev *pdev)
{
	struct axl_device *axl;
	int err;

	axl = kzalloc(sizeof(*axl), GFP_KERNEL);
	if (!axl)
		return ERR_PTR(-ENOMEM);
	err = init_srcu_struct(&axl->srcu);
	if (err)
		goto free;
	err = ida_alloc_max(&axl_ida, AXL_MAX_DEVICES - 1, GFP_KERNEL);
	if (err < 0)
		goto srcu;
	axl->index = err;
	axl->pdev = pci_dev_get(pdev);
	mutex_init(&axl->files_lock);
	mutex_init(&axl->lock);
	spin_lock_init(&axl->snapshot_lock);
	INIT_LIST_HEAD(&axl->files);
	INIT_LIST_HEAD(&axl->shares);
	INIT_WORK(&axl->recover, axl_recover);
	INIT_DELAYED_WORK(&axl->watchdog, axl_watchdog);
	axl_space_init(&axl->dram, 0, 0);
	axl_space_init(&axl->scratch, 0, 0);
	axl_init_queues(axl);

	device_initialize(&axl->dev);
	axl->dev.class = &axl_class;
	axl->dev.groups = axl_dev_groups;
	axl->dev.parent = &pdev->dev;
	axl->dev.devt = MKDEV(MAJOR(axl_devt), axl->index);
	err = dev_set_name(&axl->dev, "axl%u", axl->index);
	if (err) {
		put_device(&axl->dev);
		return ERR_PTR(err);
	}
	return axl;

srcu:
	cleanup_srcu_struct(&axl->srcu);
free:
	kfree(axl);
	return ERR_PTR(err);
}

int axl_cdev_add(struct axl_device *axl)
{
	cdev_init(&axl->cdev, &axl_fops);
	axl->cdev.owner = THIS_MODULE;
	return cdev_device_add(&axl->cdev, &axl->dev);
}

/* After this no ioctl runs, nothing is mapped for DMA, and old fds return ENODEV. */
void axl_cdev_del(struct axl_device *axl)
{
	struct axl_file *file;

	cdev_device_del(&axl->cdev, &axl->dev);
	WRITE_ONCE(axl->removed, true);
	WRITE_ONCE(axl->closed, true);
	axl_wake_all(axl);
	synchronize_srcu(&axl->srcu);
	cancel_delayed_work_sync(&axl->watchdog);
	axl_cmd_trace_stop(axl);

	mutex_lock(&axl->files_lock);
	list_for_each_entry(file, &axl->files, link)
		axl_file_teardown(file);
	mutex_unlock(&axl->files_lock);
	cancel_work_sync(&axl->recover);
}

int axl_cdev_init(void)
{
	int err = alloc_chrdev_region(&axl_devt, 0, AXL_MAX_DEVICES, "axl");

	if (err)
		return err;
	err = class_register(&axl_class);
	if (err)
		unregister_chrdev_region(axl_devt, AXL_MAX_DEVICES);
	return err;
}

void axl_cdev_exit(void)
{
	class_unregister(&axl_class);
	unregister_chrdev_region(axl_devt, AXL_MAX_DEVICES);
	ida_destroy(&axl_ida);
}

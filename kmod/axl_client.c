// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: the client number of a file. It identifies one instance of a program; user space cannot
 * choose it, so it cannot pass its jobs off as another client's.
 */
#include <linux/capability.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "axl_lifetime.h"
#include "axl_trace_object.h"

static atomic_t axl_last_client;

static u32 axl_client_number(void)
{
	u32 number;

	do {
		number = atomic_inc_return(&axl_last_client) & AXL_CLIENT_MAX;
	} while (unlikely(!number));
	return number;
}

/* files_lock is held, so that the numbers along a device's list of files ascend. */
void axl_client_open(struct axl_file *file)
{
	file->number = axl_client_number();
	file->client = file->number;
	file->owner = get_pid(task_tgid(current));
	trace_axl_client(file->axl->index, file->client, 1);
}

void axl_client_close(struct axl_file *file)
{
	trace_axl_client(file->axl->index, file->client, 0);
	put_pid(file->owner);
}

static bool axl_file_has_contexts(const struct axl_file *file)
{
	int i;

	for (i = 0; i < AXL_MAX_CONTEXTS; i++)
		if (file->ctxs[i])
			return true;
	return false;
}

int axl_client_join(struct axl_file *file, const struct axl_file *other, struct axl_join *cmd)
{
	int err = 0;

	/* A file passed on by fork or through a socket stays its opener's. */
	if (file->owner != other->owner || file->owner != task_tgid(current))
		return -EPERM;
	down_write(&file->lock);
	if (axl_file_has_contexts(file))
		err = -EBUSY;
	else
		WRITE_ONCE(file->client, READ_ONCE(other->client));
	cmd->client = file->client;
	up_write(&file->lock);
	if (!err)
		trace_axl_client(file->axl->index, cmd->client, 1);
	return err;
}

static bool axl_is_there(struct pid *owner)
{
	bool there;

	rcu_read_lock();
	there = pid_task(owner, PIDTYPE_TGID);
	rcu_read_unlock();
	return there;
}

/* Stores and counts the device's files with numbers above cmd->after. */
static u32 axl_clients_note(struct axl_device *axl, const struct axl_clients *cmd,
			    struct axl_client *clients)
{
	struct axl_file *file;
	u32 count = 0;

	mutex_lock(&axl->files_lock);
	list_for_each_entry(file, &axl->files, link) {
		if (count == cmd->count)
			break;
		if (file->number <= cmd->after)
			continue;
		clients[count].file = file->number;
		clients[count].client = READ_ONCE(file->client);
		/* The pid of a process that exited may have been reused. */
		clients[count].pid = axl_is_there(file->owner) ? pid_vnr(file->owner) : 0;
		clients[count].reserved = 0;
		count++;
	}
	mutex_unlock(&axl->files_lock);
	return count;
}

int axl_ioctl_clients(struct axl_ucmd *ucmd)
{
	struct axl_clients *cmd = ucmd->cmd;
	struct axl_client *clients;
	int err = 0;

	if (!perfmon_capable())
		return -EPERM;
	if (!cmd->count || cmd->count > AXL_MAX_CLIENTS || cmd->reserved)
		return -EINVAL;
	clients = kcalloc(cmd->count, sizeof(*clients), GFP_KERNEL_ACCOUNT);
	if (!clients)
		return -ENOMEM;
	cmd->count = axl_clients_note(ucmd->file->axl, cmd, clients);
	if (copy_to_user(u64_to_user_ptr(cmd->clients), clients, cmd->count * sizeof(*clients)))
		err = -EFAULT;
	kfree(clients);
	return err;
}

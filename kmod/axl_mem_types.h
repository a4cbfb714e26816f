/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: the structures of memory: charging, pages, buffers, device memory. */
#ifndef _AXL_MEM_TYPES_H
#define _AXL_MEM_TYPES_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/scatterlist.h>

#include "uapi/axl.h"

#define AXL_MAX_BUFS		4096		/* handles of one file, 0 unused */
#define AXL_MAX_HOST_BYTES	BIT_ULL(30)	/* one host or user buffer */
#define AXL_MMAP_HANDLE_SHIFT	32		/* mmap offset: handle, then byte */

struct axl_device;
struct axl_user;
struct cred;

/* The charges of one user on one device, shared by that user's files. */
struct axl_share {
	struct list_head link;		/* axl->shares */
	struct axl_device *axl;
	struct axl_user *user;		/* the same on all devices */
	const struct cred *cred;
	u32 files;			/* axl->files_lock */
	u32 ctxs;			/* from here on axl->lock */
	u32 queues;
	u32 bufs;
	u64 dram_bytes;
	u64 scratch_bytes;
};

/*
 * Reference-counted pages. They outlive the device while they are mapped, and stay charged until
 * the last mapping is gone.
 */
struct axl_pages {
	struct kref ref;		/* the memory's, and each mapping's */
	struct axl_share *share;	/* NULL: the driver's own */
	struct mm_struct *mm;		/* whose pinned_vm they count in */
	bool pinned;			/* user pages, not ours */
	bool locked;			/* counted in the user's locked_vm */
	unsigned long charged;
	unsigned long count;		/* there already */
	struct page *page[];
};

/* Pages and their bus addresses. */
struct axl_mem {
	struct device *dma_dev;		/* NULL once unmapped from the bus */
	struct axl_pages *pages;
	struct sg_table sgt;
	u32 num_sg;
	/* The segments in the device's format, if there is more than one. */
	struct axl_sg *sg;
	dma_addr_t sg_dma;
	u64 *sg_start;			/* byte at which each segment starts */
	struct axl_block *list;		/* memory of sg */
};

/* Memory that is contiguous both for the device and for the driver. */
struct axl_block {
	struct axl_mem mem;
	void *at;
	dma_addr_t dma;
};

struct axl_buf {
	u32 handle;
	u32 kind;			/* AXL_BUF_* */
	u64 bytes;
	u64 addr;			/* device address; bus address when num_sg == 1 */
	u64 device_bytes;		/* bytes, or 0 when it is not in device memory */
	u64 flat_bytes;			/* bytes, or 0 when addr is not all of it on the bus */
	u64 last_use[AXL_MAX_QUEUES];	/* newest job of each hardware queue, see axl_hwq */
	struct axl_mem mem;		/* AXL_BUF_HOST and AXL_BUF_USER */
};

/* A range of device memory that is taken. */
struct axl_range {
	struct list_head link;		/* sorted by start */
	u64 start;
	u64 bytes;
};

/* Device memory of one kind: its taken ranges. */
struct axl_space {
	struct list_head taken;
	u64 start;
	u64 end;
	u64 free_bytes;
};

#endif /* _AXL_MEM_TYPES_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * axl.ko: what its files share.
 *
 * Locks, outermost first:
 *   axl->files_lock   the list of open files; held over a file's teardown
 *   queue->submit     order of submissions to one queue
 *   file->lock        a file's tables: contexts, buffers, its trace ring
 *   cmd_trace.lock    whether the driver reads the trace ring itself
 *   axl->lock         hardware contexts, queues, rings, device memory, reset
 *   hwq->lock         one hardware queue's rings; taken in interrupt context
 * User memory is never touched under any of them, nor inside axl_enter().
 */
#ifndef _AXL_DEV_H
#define _AXL_DEV_H

#include <linux/atomic.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/rwsem.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "axl_stamp.h"
#include "uapi/axl.h"
#include "uapi/axl_counters.h"
#include "uapi/axl_stats.h"
#include "compat.h"

#define AXL_SQ_LOG2		11
#define AXL_SQ_ENTRIES		BIT(AXL_SQ_LOG2)
#define AXL_CQ_LOG2		11
#define AXL_CQ_ENTRIES		BIT(AXL_CQ_LOG2)
#define AXL_MAX_BUFS		4096		/* handles of one file, 0 unused */
#define AXL_MAX_HOST_BYTES	BIT_ULL(30)	/* one host or user buffer */
#define AXL_MMAP_HANDLE_SHIFT	32		/* mmap offset: handle, then byte */
#define AXL_CTX_NONE		0xffffffffu	/* in tracepoints */

struct axl_device;
struct axl_file;
struct axl_user;
struct cred;

/* Who pays: a user, on one device. Kept by his files. */
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

/* Pages that outlive the device as long as someone maps them; then, too, they are paid for. */
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
	/* The same as the device wants it, when there is more than one segment. */
	struct axl_sg *sg;
	dma_addr_t sg_dma;
	u64 *sg_start;			/* byte at which each segment starts */
	struct axl_block *list;		/* where sg lies */
};

/* Memory that is one piece for the device and for us. */
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

struct axl_job {
	u64 seq;
	u64 correlation;
	u64 device_ticks;		/* from its completion entry */
	unsigned long since;		/* jiffies of its submission */
	u32 job;
	u32 sq_end;			/* free-running index after its last entry */
	bool noted;			/* somebody listened as it was submitted */
	/* Then, for axl_job and the driver's ring: stamps, and the time of one of them. */
	u64 submit;
	u64 doorbell;
	u64 submit_end;
	u64 doorbell_ns;
	u64 copy_bytes;
	u16 num_cmds;
	u16 cpu;
	u32 pid;
	u32 tid;
};

/* A context's queue. Lives as long as the context's last reference. */
struct axl_queue {
	struct axl_ctx *ctx;
	struct axl_hwq *hwq;
	struct mutex submit;		/* one submission at a time */
	wait_queue_head_t wait;		/* for completions and for ring space */
	/* the rest: hwq->lock; sequences may be read without it */
	u64 submitted;
	u64 completed;
	u64 failed;			/* first sequence that went wrong, 0 = none */
	u64 guilty;			/* the one whose fault it was; others were canceled */
	u32 guilty_status;
	u32 guilty_index;
	unsigned long progress;		/* jiffies of the last completion */
	bool dead;			/* takes no more work */
	bool bad;			/* its completion ring made no sense */
	u32 sq_tail;			/* free-running */
	u32 sq_head;
	u32 cq_head;
	struct axl_desc *sq;
	struct axl_cqe *cq;
	struct axl_block sq_block;
	struct axl_block cq_block;
	struct axl_job *jobs;		/* AXL_SQ_ENTRIES, by sequence */
	struct list_head fences;	/* unsignalled, in order of sequence */
};

/* A hardware queue; always there, so that interrupts find it. */
struct axl_hwq {
	struct axl_device *axl;
	u32 id;
	spinlock_t lock;		/* q and its rings */
	struct axl_queue *q;		/* NULL = free; axl->lock to change */
	u64 seq_base;			/* jobs of former owners: last_use goes on from here */
	struct axl_anchor anchor;	/* for the times of jobs */
	/* While the handler runs, for those who hear of jobs: */
	u64 irq_stamp;			/* when it was entered, 0 = not in the handler */
	u32 irq_ready;			/* completions that it found and has yet to take */
};

struct axl_ctx {
	struct kref ref;
	struct axl_device *axl;
	struct axl_share *share;
	u32 handle;
	u32 hw;				/* hardware context */
	u32 num_queues;
	u32 error;			/* enum axl_status that killed it, under axl->lock */
	bool dead;
	struct axl_queue *queues[AXL_MAX_QUEUES];
};

struct axl_trace_ring {
	struct axl_device *axl;
	u32 id;
	bool running;			/* the device may write to it */
	wait_queue_head_t wait;
	u32 log2_records;
	u32 watermark;
	struct axl_trace_open setup;	/* to arm it again after a device reset */
	struct axl_trace_header *header;	/* NULL = free, under axl->lock */
	struct axl_mem mem;
};

/* The driver's own, see axl_driver_ring.c. */
struct axl_driver_ring {
	spinlock_t lock;		/* taken with a queue's held */
	union axl_host_record *records;	/* NULL = closed */
	u32 mask;
	u64 produced;
	u64 lost;
	u32 watermark;
	struct axl_trace_header *header;	/* NULL = free, under axl->lock */
	wait_queue_head_t wait;
	struct axl_mem mem;
};

struct axl_file {
	struct axl_device *axl;
	struct axl_share *share;
	struct list_head link;		/* axl->files */
	struct rw_semaphore lock;
	bool torn;			/* the device let go of it */
	struct axl_ctx *ctxs[AXL_MAX_CONTEXTS];	/* handle - 1 */
	struct axl_buf **bufs;		/* by handle */
	u32 num_bufs;			/* size of that table */
	struct axl_trace_ring *ring;
	bool driver_ring;		/* has that instead */
};

/* The driver's own reader of the device-wide trace ring, see axl_cmd_trace.c. */
struct axl_cmd_trace {
	struct mutex lock;		/* of starting and stopping it */
	bool on;			/* the rest: axl->lock */
	u64 read;			/* free-running */
	u64 lost;			/* of them told */
	struct delayed_work work;
};

/* A range of device memory that is taken. */
struct axl_range {
	struct list_head link;		/* sorted by start */
	u64 start;
	u64 bytes;
};

struct axl_space {
	struct list_head taken;
	u64 start;
	u64 end;
	u64 free_bytes;
};

struct axl_device {
	struct device dev;		/* its release frees this struct */
	struct cdev cdev;
	struct pci_dev *pdev;		/* referenced; valid even after unplug */
	void __iomem *regs;
	u32 index;

	struct srcu_struct srcu;	/* see axl_enter() */
	bool closed;			/* no new calls: unplug or loss has begun */
	bool gone;			/* no access to hardware any more; implies closed */
	bool lost_told;			/* the uevent, once for each loss */
	bool removed;			/* unplug or unbind: closed for good */
	bool offline;			/* no access for now: suspended, or in a bus reset */

	/* identity, read once */
	u32 hw_version;
	u32 features;
	u32 num_queues;
	u32 num_contexts;
	u32 num_rings;
	u32 num_counters;
	u32 clock_bits;
	u64 clock_hz;
	u64 scratch_bytes;

	struct mutex files_lock;	/* files, shares */
	struct list_head files;
	struct list_head shares;
	atomic64_t host_bytes;		/* of all shares */

	struct mutex lock;		/* who owns what of the hardware; resets */
	struct axl_ctx *ctxs[AXL_MAX_CONTEXTS];
	bool unclean;			/* memory that nobody owns may not be zero */
	struct axl_space dram;
	struct axl_space scratch;

	spinlock_t snapshot_lock;	/* counter latch, PTM registers, what is below */
	u64 counter_epoch;		/* resets, each of which zeroes the counters */
	u64 clock_last;			/* a narrow clock, extended to 64 bits */
	atomic_t next_job;
	struct axl_hwq hwq[AXL_MAX_QUEUES];
	struct axl_trace_ring rings[AXL_MAX_TRACE_RINGS];
	struct axl_driver_ring driver_ring;
	struct axl_cmd_trace cmd_trace;

	struct work_struct recover;	/* contexts in error, loss of the device */
	unsigned long ctx_errors;	/* hardware contexts that recover looks at */
	struct delayed_work watchdog;	/* runs while jobs are in flight */
	atomic_t watchdog_armed;
	atomic64_t stats[AXL_NUM_STATS];

	struct axl_pmu *pmu;
	struct ptp_clock_info ptp_info;
	struct ptp_clock *ptp;
	struct dentry *debugfs;
};

/* What the commands of one job are translated with, file->lock held. */
struct axl_xlate {
	struct axl_buf **bufs;
	u32 num_bufs;
	u32 hwq;
	u32 hw;
	u32 job;
	u64 job_bits;			/* job where the first word of a command has it */
	u64 correlation;
	u64 use;			/* noted in each buffer: hwq's newest job */
	u64 copy_bytes;			/* sum, for the tracepoint; commands may yet be refused */
};

/* What a vector opcode does with its operands. */
#define AXL_V_SRC0		BIT(0)	/* reads rows x cols at src0 */
#define AXL_V_SRC1		BIT(1)	/* reads the same shape, or one row, at src1 */
#define AXL_V_ROW1		BIT(2)	/* reads one row at src1 */
#define AXL_V_INDEX0		BIT(3)	/* reads one index a row at src0, arg0 rows at src1 */
#define AXL_V_SCALAR		BIT(4)	/* writes one value a row */
#define AXL_NUM_VECTOR_OPS	(AXL_OP_VEC_SUM - AXL_OP_VEC_FILL + 1)

/* One ioctl call: the copied-in struct and what to do when it returns. */
struct axl_ucmd {
	struct axl_file *file;
	void *cmd;
	struct file *fence;		/* installed at fence_fd once the struct is copied out */
	int fence_fd;
};

#define to_axl(d) container_of(d, struct axl_device, dev)

static inline void axl_count(struct axl_device *axl, enum axl_stat stat)
{
	atomic64_inc(&axl->stats[stat]);
}

/*
 * Brackets everything that needs the device to stay. Unplug closes the device
 * and waits for those inside; they must not wait for user memory.
 */
static inline int axl_enter(struct axl_device *axl, int *idx)
{
	*idx = srcu_read_lock(&axl->srcu);
	if (likely(!READ_ONCE(axl->closed)))
		return 0;
	srcu_read_unlock(&axl->srcu, *idx);
	return -ENODEV;
}

/* Whether what was just read from the device can be believed. */
static inline bool axl_accessible(struct axl_device *axl)
{
	return !READ_ONCE(axl->gone) && !READ_ONCE(axl->offline);
}

static inline void axl_write32(struct axl_device *axl, u32 reg, u32 value)
{
	if (likely(axl_accessible(axl)))
		writel(value, axl->regs + reg);
}

static inline int axl_gone_error(struct axl_device *axl)
{
	return READ_ONCE(axl->closed) ? -ENODEV : -EIO;
}

static inline void axl_exit(struct axl_device *axl, int idx)
{
	srcu_read_unlock(&axl->srcu, idx);
}

/* axl_hw.c: register access that stops when the device is gone */
u32 axl_read32(struct axl_device *axl, u32 reg);
u64 axl_read64(struct axl_device *axl, u32 reg);
void axl_write64(struct axl_device *axl, u32 reg, u64 value);
int axl_wait_clear32(struct axl_device *axl, u32 reg, u32 bits, unsigned int timeout_us);
void axl_set_gone(struct axl_device *axl);
void axl_wake_all(struct axl_device *axl);
int axl_hw_start(struct axl_device *axl);
void axl_hw_stop(struct axl_device *axl);

/* axl_info.c */
int axl_ioctl_info(struct axl_ucmd *ucmd);
int axl_read_identity(struct axl_device *axl);

/* axl_cdev.c */
int axl_cdev_init(void);
void axl_cdev_exit(void);
struct axl_device *axl_alloc(struct pci_dev *pdev);
int axl_cdev_add(struct axl_device *axl);
void axl_cdev_del(struct axl_device *axl);

/* axl_mem.c */
int axl_mem_alloc(struct axl_device *axl, struct axl_share *share, struct axl_mem *mem, u64 bytes,
		  bool whole);
int axl_mem_pin(struct axl_share *share, struct axl_mem *mem, u64 user_addr, u64 bytes);
int axl_mem_make_list(struct axl_device *axl, struct axl_mem *mem);
int axl_mem_map(struct axl_device *axl, struct axl_mem *mem);
void axl_mem_unmap(struct axl_mem *mem);
void axl_mem_free(struct axl_mem *mem);
int axl_block_alloc(struct axl_device *axl, struct axl_share *share, struct axl_block *block,
		    u64 bytes);
void axl_block_free(struct axl_block *block);
int axl_mem_mmap(struct axl_mem *mem, struct vm_area_struct *vma, unsigned long first_page);

/* axl_quota.c */
struct axl_share *axl_share_get(struct axl_device *axl, const struct cred *cred);
void axl_share_put(struct axl_share *share);
int axl_share_charge_host(struct axl_share *share, u64 bytes);
void axl_share_uncharge_host(struct axl_share *share, u64 bytes);
int axl_share_take_ctx(struct axl_share *share, u32 queues);
void axl_share_give_ctx(struct axl_share *share, u32 queues);
int axl_share_take_buf(struct axl_share *share, u32 kind, u64 bytes);
void axl_share_give_buf(struct axl_share *share, u32 kind, u64 bytes);
bool axl_machine_has(u64 bytes);
u64 axl_user_limit(u64 whole);
u64 axl_user_host_limit(void);

/* axl_space.c */
void axl_space_init(struct axl_space *space, u64 start, u64 end);
int axl_space_take(struct axl_space *space, u64 bytes, u64 *start);
void axl_space_give(struct axl_space *space, u64 start);
void axl_space_fini(struct axl_space *space);

/* axl_clear.c */
void axl_clear_range(struct axl_device *axl, u64 start, u64 bytes);
int axl_clear_free(struct axl_device *axl);

/* axl_buf.c */
int axl_ioctl_buf_create(struct axl_ucmd *ucmd);
int axl_ioctl_buf_destroy(struct axl_ucmd *ucmd);
void axl_bufs_teardown(struct axl_file *file);

/* axl_ctx.c */
int axl_ioctl_ctx_create(struct axl_ucmd *ucmd);
int axl_ioctl_ctx_destroy(struct axl_ucmd *ucmd);
struct axl_ctx *axl_ctx_get(struct axl_file *file, u32 handle);
void axl_ctx_put(struct axl_ctx *ctx);
void axl_ctx_release(struct axl_ctx *ctx);

/* axl_queue.c */
struct axl_queue *axl_queue_create(struct axl_ctx *ctx);
void axl_queue_start(struct axl_queue *q);
void axl_queue_free_rings(struct axl_queue *q);
void axl_queue_destroy(struct axl_queue *q);
unsigned int axl_queue_peek(struct axl_queue *q);
unsigned int axl_queue_reap(struct axl_queue *q);
int axl_ioctl_jobs_trace(struct axl_ucmd *ucmd);
void axl_queue_fail(struct axl_queue *q, u32 status, u32 job, u32 index);

/* axl_reset.c */
void axl_ctx_kill(struct axl_ctx *ctx, u32 status, u32 job, u32 index);
void axl_ctx_error(struct axl_device *axl, u32 hw);
void axl_recover(struct work_struct *work);
void axl_watchdog(struct work_struct *work);
void axl_watchdog_arm(struct axl_device *axl);
void axl_fail_all(struct axl_device *axl);
void axl_device_reset(struct axl_device *axl);
void axl_rearm_rings(struct axl_device *axl);

/* axl_submit.c, axl_fetch.c, axl_validate.c */
int axl_ioctl_submit(struct axl_ucmd *ucmd);
int axl_fetch(struct axl_xlate *x, struct axl_desc *ring, u32 at,
	      const struct axl_desc __user *user, u32 num_cmds);
int axl_translate(struct axl_xlate *x, struct axl_desc *desc, u32 index);
extern const u8 axl_vector_ops[AXL_NUM_VECTOR_OPS];

/* axl_fence.c */
struct axl_fence;
struct axl_fence *axl_fence_create(struct axl_ucmd *ucmd);
void axl_fence_add(struct axl_queue *q, struct axl_fence *fence, u64 seq);
void axl_fences_signal(struct axl_queue *q);

/* axl_wait.c */
int axl_ioctl_wait(struct axl_ucmd *ucmd);
u32 axl_seq_status(struct axl_queue *q, u64 seq, u32 *index);

/* axl_irq.c */
irqreturn_t axl_irq_queue(int irq, void *data);
irqreturn_t axl_irq_device(int irq, void *data);

/* axl_trace_ring.c */
int axl_ioctl_trace_open(struct axl_ucmd *ucmd);
int axl_driver_ring_open(struct axl_ucmd *ucmd);
void axl_driver_ring_release(struct axl_file *file);
bool axl_driver_ring_readable(struct axl_driver_ring *ring);
void axl_driver_ring_init(struct axl_device *axl);
int axl_ioctl_trace_close(struct axl_ucmd *ucmd);
void axl_ring_init(struct axl_device *axl, u32 id);
int axl_ring_alloc(struct axl_device *axl, struct axl_share *share, u32 log2_records,
		   struct axl_mem *mem);
int axl_ring_take(struct axl_trace_ring *ring, const struct axl_trace_open *setup,
		  const struct axl_mem *mem);
struct axl_mem axl_ring_drop(struct axl_trace_ring *ring);
void axl_ring_arm(struct axl_trace_ring *ring);
void axl_ring_stop(struct axl_trace_ring *ring);
void axl_ring_release(struct axl_file *file);
bool axl_ring_readable(struct axl_trace_ring *ring);

/* axl_cmd_trace.c */
void axl_cmd_trace_init(struct axl_device *axl);
int axl_cmd_trace_set(struct axl_device *axl, bool on);
void axl_cmd_trace_stop(struct axl_device *axl);
void axl_cmd_trace_drain(struct axl_device *axl);

/* axl_counters.c */
int axl_ioctl_counters(struct axl_ucmd *ucmd);
int axl_counter_now(struct axl_device *axl, u32 counter, u64 *value, u64 *epoch);

/* axl_clock.c */
int axl_ioctl_clock_sample(struct axl_ucmd *ucmd);
u64 axl_ticks_extend(struct axl_device *axl, u64 ticks);
u64 axl_ticks_to_ns(struct axl_device *axl, u64 ticks);
int axl_clock_cross(struct axl_device *axl, u64 *ticks, ktime_t *real, ktime_t *raw);

/* axl_pm.c */
extern const struct pci_error_handlers axl_error_handlers;
extern const struct dev_pm_ops axl_pm_ops;

/* axl_pmu.c */
int axl_pmu_init(void);
void axl_pmu_exit(void);
int axl_pmu_add_device(struct axl_device *axl);
void axl_pmu_remove_device(struct axl_device *axl);

/* axl_ptp.c */
int axl_ptp_add_device(struct axl_device *axl);
void axl_ptp_remove_device(struct axl_device *axl);

/* axl_sysfs.c */
extern const struct attribute_group *axl_dev_groups[];
void axl_sysfs_init(void);
const char *axl_state_name(struct axl_device *axl);
void axl_uevent(struct axl_device *axl, const char *what);

/* axl_debugfs.c */
void axl_debugfs_init(void);
void axl_debugfs_exit(void);
void axl_debugfs_add_device(struct axl_device *axl);
void axl_debugfs_remove_device(struct axl_device *axl);

#endif /* _AXL_DEV_H */

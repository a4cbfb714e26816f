/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the kernel that the driver's arithmetic needs to be compiled for user space, where
 * every number can be tested: types, no locks, memory from the C library. Replaces each <linux/...>
 * header that arithmetic.c's sources include.
 */
#ifndef TESTS_DRIVER_KERNEL_H_
#define TESTS_DRIVER_KERNEL_H_

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;
typedef u64 dma_addr_t;
typedef s64 ktime_t;
typedef int irqreturn_t;
typedef unsigned int gfp_t;
typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;
typedef struct { int held; } spinlock_t;
typedef struct { int sleepers; } wait_queue_head_t;

struct list_head { struct list_head *next, *prev; };
struct mutex { int held; };
struct rw_semaphore { int held; };
struct kref { int count; };
struct kobject { int none; };
struct device { struct kobject kobj; };
struct cdev { int none; };
struct srcu_struct { int none; };
struct work_struct { int none; };
struct delayed_work { struct work_struct work; };
struct ptp_clock_info { int none; };
struct sg_table { void *sgl; };
struct pci_dev { struct device dev; };
struct system_time_snapshot { u64 cycles; ktime_t real, raw; unsigned int clock_was_set_seq; };
struct system_device_crosststamp { ktime_t sys_realtime; };
struct page;
struct mm_struct;
struct dentry;
struct file;
struct vm_area_struct;
struct ptp_clock;
struct pci_error_handlers;
struct dev_pm_ops;
struct attribute_group;

/* Makes compat.h assume a kernel that has them. */
#define AXL_HAVE_VM_FLAGS_SET
#define AXL_HAVE_PCIM_IOMAP_REGION
/* Omits the headers of tracepoints. */
#define _AXL_TRACE_DEVICE_H
#define _AXL_TRACE_JOB_H
#define _AXL_TRACE_OBJECT_H
/* Omits the driver's own ring, which is never open here. */
#define AXL_DRIVER_RING_H
#define axl_driver_ring_on() false
#define axl_driver_ring_job(...) ((void)0)

#define __user
#define __init
#define __ro_after_init
#undef noinline
#define noinline __attribute__((noinline))
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define __iomem
#define BIT(n) (1ul << (n))
#define BIT_ULL(n) (1ull << (n))
#define GENMASK_ULL(high, low) ((~0ull >> (63 - (high))) & (~0ull << (low)))
#define U32_MAX (~0u)
#define NSEC_PER_SEC 1000000000l
#define GFP_KERNEL 0
#define GFP_KERNEL_ACCOUNT 0
#define TK_OFFS_REAL 0
#define likely(x) (x)
#define unlikely(x) (x)
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define dma_rmb() ((void)0)
#define lockdep_assert_held(lock) ((void)(lock))
#define container_of(at, type, field) ((type *)((char *)(at) - offsetof(type, field)))
#define WARN_ONCE(cond, ...) ((void)(cond), abort())
#define spin_lock_irqsave(lock, flags) ((void)(lock), (flags) = 0)
#define spin_unlock_irqrestore(lock, flags) ((void)(lock), (void)(flags))

static unsigned long jiffies;

static inline void atomic64_inc(atomic64_t *v) { v->counter++; }
static inline void spin_lock_irq(spinlock_t *lock) { lock->held++; }
static inline void spin_unlock_irq(spinlock_t *lock) { lock->held--; }
static inline void mutex_init(struct mutex *lock) { lock->held = 0; }
static inline void mutex_lock(struct mutex *lock) { lock->held++; }
static inline void mutex_unlock(struct mutex *lock) { lock->held--; }
static inline int srcu_read_lock(struct srcu_struct *srcu) { return srcu->none; }
static inline void srcu_read_unlock(struct srcu_struct *srcu, int idx) { srcu->none = idx; }
static inline void init_waitqueue_head(wait_queue_head_t *wait) { wait->sleepers = 0; }
static inline void wake_up_all(wait_queue_head_t *wait) { wait->sleepers = 0; }

static inline void trace_nothing(u64 first, ...) { (void)first; }
/* The value of the clock; 0 if a test does not depend on it. */
static u64 (*mono_clock_)(void);
static inline u64 ktime_get_mono_fast_ns(void) { return mono_clock_ ? mono_clock_() : 0; }
static inline void *kzalloc(size_t bytes, gfp_t gfp) { (void)gfp; return calloc(1, bytes); }
static inline void kfree(const void *p) { free((void *)p); }
static inline void kvfree(const void *p) { free((void *)p); }
static inline void *kvcalloc(size_t n, size_t bytes, gfp_t gfp)
{
	(void)gfp;
	return calloc(n, bytes);
}

static inline void INIT_LIST_HEAD(struct list_head *list) { list->next = list->prev = list; }
static inline void list_add_tail(struct list_head *entry, struct list_head *before)
{
	entry->next = before;
	entry->prev = before->prev;
	before->prev->next = entry;
	before->prev = entry;
}

static inline void list_del(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
}

#define list_entry_of(at, like, field) container_of(at, __typeof__(*(like)), field)
#define list_for_each_entry(at, head, field)				\
	for (at = list_entry_of((head)->next, at, field); &at->field != (head); \
	     at = list_entry_of(at->field.next, at, field))
#define list_for_each_entry_safe(at, after, head, field)		\
	for (at = list_entry_of((head)->next, at, field),		\
	     after = list_entry_of(at->field.next, at, field); &at->field != (head); \
	     at = after, after = list_entry_of(at->field.next, at, field))

static inline u64 div64_u64(u64 a, u64 b) { return a / b; }
static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	return (u64)((unsigned __int128)a * b / c);
}

static inline s64 ktime_to_ns(ktime_t t) { return t; }
static inline ktime_t ns_to_ktime(u64 ns) { return (ktime_t)ns; }
static inline ktime_t ktime_sub(ktime_t a, ktime_t b) { return a - b; }
static inline ktime_t ktime_mono_to_any(ktime_t t, int offset) { return t + offset; }
static inline u64 ktime_get_ns(void) { return 0; }
static inline void ktime_get_snapshot(struct system_time_snapshot *snap)
{
	memset(snap, 0, sizeof(*snap));
}

/* The last write to any register. */
static u32 written_;
static void *written_at_;

static inline void writel(u32 value, void *at)
{
	written_ = value;
	written_at_ = at;
}

#define trace_axl_queue(...) ((void)0)
#define trace_axl_complete(...) ((void)0)
#define trace_axl_job(...) trace_nothing(__VA_ARGS__)
#define trace_axl_job_enabled() false
#define AXL_JOB_WHERE(dev, ctx, queue, status) ((u64)(dev) + (ctx) + (queue) + (status))
#define perfmon_capable() true
#define trace_axl_clock_sample(...) ((void)0)

#endif /* TESTS_DRIVER_KERNEL_H_ */

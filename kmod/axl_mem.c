// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: host memory that the device reads and writes.
 *
 * Memory is either allocated here (user space can map it) or pinned user pages, and mapped for DMA
 * as a scatter list. Pages are counted and charged until the last user mapping is gone, even if
 * buffer and device are gone before. Memory that the DMA layer would bounce is refused, because CPU
 * and device use it at the same time.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/oom.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "axl_memory.h"

#define AXL_MEM_MAX_ORDER 10

/* Memory that needs syncs is refused; besides, syncs would forbid to pin a page twice. */
#define AXL_MEM_ATTRS DMA_ATTR_SKIP_CPU_SYNC

/* Fails instead of invoking the OOM killer. */
#define AXL_MEM_GFP (GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN)

/* Loops over pages reschedule after this many, since a user may have millions. */
#define AXL_PAGES_AT_ONCE 1024ul

static void axl_pages_release(struct kref *ref)
{
	struct axl_pages *pages = container_of(ref, struct axl_pages, ref);
	unsigned long at, i;

	for (at = 0; at < pages->count; at += AXL_PAGES_AT_ONCE) {
		unsigned long count = min(pages->count - at, AXL_PAGES_AT_ONCE);

		if (pages->pinned)
			unpin_user_pages_dirty_lock(pages->page + at, count, true);
		else
			for (i = 0; i < count; i++)
				__free_page(pages->page[at + i]);
		cond_resched();
	}
	if (pages->locked)
		atomic_long_sub(pages->charged, &pages->share->cred->user->locked_vm);
	if (pages->mm) {
		atomic64_sub(pages->charged, &pages->mm->pinned_vm);
		mmdrop(pages->mm);
	}
	if (pages->share)
		axl_share_uncharge_host(pages->share, (u64)pages->charged << PAGE_SHIFT);
	kvfree(pages);
}

static void axl_pages_put(struct axl_pages *pages)
{
	kref_put(&pages->ref, axl_pages_release);
}

/* Allocates an array for this many pages, charged to share. */
static struct axl_pages *axl_pages_create(struct axl_share *share, unsigned long count)
{
	struct axl_pages *pages;
	int err;

	err = share ? axl_share_charge_host(share, (u64)count << PAGE_SHIFT) : 0;
	if (err)
		return ERR_PTR(err);
	pages = kvzalloc(struct_size(pages, page, count), AXL_MEM_GFP | __GFP_RETRY_MAYFAIL);
	if (!pages) {
		if (share)
			axl_share_uncharge_host(share, (u64)count << PAGE_SHIFT);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&pages->ref);
	pages->share = share;
	pages->charged = count;
	return pages;
}

/* Adds a block of pages; pages beyond the wanted count are freed. */
static void axl_pages_add(struct axl_pages *pages, struct page *block, unsigned int order)
{
	unsigned long i;

	if (order)
		split_page(block, order);
	for (i = 0; i < 1ul << order; i++) {
		if (pages->count < pages->charged)
			pages->page[pages->count++] = block + i;
		else
			__free_page(block + i);
	}
}

/* Fills the array with as few blocks as possible; `whole` makes the allocator try hard for one. */
static int axl_pages_fill(struct axl_pages *pages, int node, bool whole)
{
	unsigned int order = AXL_MEM_MAX_ORDER;

	while (pages->count < pages->charged) {
		unsigned long left = pages->charged - pages->count;
		unsigned int want = min_t(unsigned int, order, get_order(left << PAGE_SHIFT));
		bool hard = !want || (whole && !pages->count && order == AXL_MEM_MAX_ORDER);
		struct page *block;

		block = alloc_pages_node(node, AXL_MEM_GFP | (hard ? __GFP_RETRY_MAYFAIL :
								     __GFP_NORETRY), want);
		cond_resched();
		if (fatal_signal_pending(current)) {
			if (block)
				__free_pages(block, want);
			return -EINTR;
		}
		if (block)
			axl_pages_add(pages, block, want);
		else if (want)
			order = want - 1;
		else
			return -ENOMEM;
	}
	return 0;
}

/* Marks the caller as the first victim should the OOM killer run nevertheless. */
static int axl_pages_fill_as_origin(struct axl_pages *pages, int node, bool whole)
{
	bool user = !(current->flags & PF_KTHREAD);
	int err;

	if (user)
		set_current_oom_origin();
	err = axl_pages_fill(pages, node, whole);
	if (user)
		clear_current_oom_origin();
	return err;
}

/* share is charged; NULL for memory of the driver's own. */
int axl_mem_alloc(struct axl_device *axl, struct axl_share *share, struct axl_mem *mem, u64 bytes,
		  bool whole)
{
	struct axl_pages *pages;
	int err;

	pages = axl_pages_create(share, PAGE_ALIGN(bytes) >> PAGE_SHIFT);
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	if (!axl_machine_has(bytes)) {
		axl_count(axl, AXL_STAT_QUOTA_REFUSALS);
		err = -ENOMEM;
	} else {
		err = axl_pages_fill_as_origin(pages, dev_to_node(&axl->pdev->dev), whole);
	}
	if (err)
		axl_pages_put(pages);
	else
		mem->pages = pages;
	return err;
}

/*
 * RLIMIT_MEMLOCK limits the pages that a user has pinned in all processes, as for io_uring; a limit
 * per address space could be multiplied by forking.
 */
static int axl_pages_lock(struct axl_pages *pages)
{
	atomic_long_t *locked_vm = &pages->share->cred->user->locked_vm;
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	unsigned long pinned = pages->charged;

	if (!capable(CAP_IPC_LOCK)) {
		if (atomic_long_add_return(pinned, locked_vm) > limit) {
			atomic_long_sub(pinned, locked_vm);
			return -ENOMEM;
		}
		pages->locked = true;
	}
	/* An atomic add, since buffers are freed under locks that order after the mmap lock. */
	atomic64_add(pinned, &current->mm->pinned_vm);
	mmgrab(current->mm);
	pages->mm = current->mm;
	return 0;
}

static int axl_pages_pin(struct axl_pages *pages, u64 user_addr)
{
	while (pages->count < pages->charged) {
		unsigned long left = pages->charged - pages->count;
		int got = pin_user_pages_fast(user_addr + ((u64)pages->count << PAGE_SHIFT),
					      min(left, AXL_PAGES_AT_ONCE),
					      FOLL_WRITE | FOLL_LONGTERM,
					      pages->page + pages->count);

		if (got <= 0)
			return got ? got : -EFAULT;
		pages->count += got;
		cond_resched();
	}
	return 0;
}

/* May fault user memory in: call it outside axl_enter() and without locks. */
int axl_mem_pin(struct axl_share *share, struct axl_mem *mem, u64 user_addr, u64 bytes)
{
	struct axl_pages *pages;
	int err;

	pages = axl_pages_create(share, bytes >> PAGE_SHIFT);
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	pages->pinned = true;
	err = axl_pages_lock(pages);
	if (!err)
		err = axl_pages_pin(pages, user_addr);
	if (err)
		axl_pages_put(pages);
	else
		mem->pages = pages;
	return err;
}

/* Builds the device's scatter list, needed if the memory is not contiguous on the bus. */
int axl_mem_make_list(struct axl_device *axl, struct axl_mem *mem)
{
	struct scatterlist *s;
	u64 at = 0;
	int err, i;

	mem->sg_start = kvcalloc(mem->num_sg, sizeof(u64),
				 GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	mem->list = kzalloc(sizeof(*mem->list), GFP_KERNEL_ACCOUNT);
	if (!mem->sg_start || !mem->list)
		return -ENOMEM;
	err = axl_block_alloc(axl, mem->pages->share, mem->list,
			      (u64)mem->num_sg * sizeof(*mem->sg));
	if (err)
		return err;
	mem->sg = mem->list->at;
	mem->sg_dma = mem->list->dma;
	for_each_sgtable_dma_sg(&mem->sgt, s, i) {
		mem->sg_start[i] = at;
		mem->sg[i].addr = sg_dma_address(s);
		mem->sg[i].bytes = sg_dma_len(s);
		mem->sg[i].reserved = 0;
		at += sg_dma_len(s);
		if (i % AXL_PAGES_AT_ONCE == 0)
			cond_resched();
	}
	return 0;
}

/*
 * Whether the device accesses these pages directly, not copies in a bounce buffer. With an IOMMU
 * dma_need_sync() is true for all memory, so compare the addresses that it maps to.
 */
static bool axl_mem_is_direct(struct device *dev, struct axl_mem *mem)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);
	struct scatterlist *s;
	u64 at = 0;
	int i;

	for_each_sgtable_dma_sg(&mem->sgt, s, i) {
		dma_addr_t addr = sg_dma_address(s);

		if (domain) {
			phys_addr_t phys = page_to_phys(mem->pages->page[at >> PAGE_SHIFT]);

			if (iommu_iova_to_phys(domain, addr) != phys)
				return false;
		} else if (dma_need_sync(dev, addr)) {
			return false;
		}
		at += sg_dma_len(s);
		if (i % AXL_PAGES_AT_ONCE == 0)
			cond_resched();
	}
	return true;
}

int axl_mem_map(struct axl_device *axl, struct axl_mem *mem)
{
	struct device *dev = &axl->pdev->dev;
	int err;

	err = sg_alloc_table_from_pages_segment(&mem->sgt, mem->pages->page, mem->pages->count, 0,
						mem->pages->count << PAGE_SHIFT,
						dma_get_max_seg_size(dev),
						GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL |
						__GFP_NOWARN);
	if (err)
		return err;
	err = dma_map_sgtable(dev, &mem->sgt, DMA_BIDIRECTIONAL, AXL_MEM_ATTRS);
	if (err) {
		sg_free_table(&mem->sgt);
		return err;
	}
	mem->dma_dev = dev;
	mem->num_sg = mem->sgt.nents;
	if (!axl_mem_is_direct(dev, mem)) {
		axl_mem_unmap(mem);
		return -EOPNOTSUPP;
	}
	return 0;
}

/* Unmaps the memory from the device; the pages stay. */
void axl_mem_unmap(struct axl_mem *mem)
{
	if (!mem->dma_dev)
		return;
	if (mem->list)
		axl_block_free(mem->list);
	kfree(mem->list);
	kvfree(mem->sg_start);
	dma_unmap_sgtable(mem->dma_dev, &mem->sgt, DMA_BIDIRECTIONAL, AXL_MEM_ATTRS);
	sg_free_table(&mem->sgt);
	mem->list = NULL;
	mem->sg = NULL;
	mem->sg_start = NULL;
	mem->num_sg = 0;
	mem->dma_dev = NULL;
}

void axl_mem_free(struct axl_mem *mem)
{
	if (mem->pages)
		axl_pages_put(mem->pages);
	mem->pages = NULL;
}

/*
 * Memory for the driver and the device that is contiguous for both: a ring or a list.
 * dma_alloc_coherent() is not used because it is not charged to a memory cgroup.
 */
int axl_block_alloc(struct axl_device *axl, struct axl_share *share, struct axl_block *block,
		    u64 bytes)
{
	struct axl_mem *mem = &block->mem;
	int err;

	err = axl_mem_alloc(axl, share, mem, bytes, true);
	if (err)
		return err;
	err = axl_mem_map(axl, mem);
	if (err)
		goto free;
	err = -ENOMEM;
	if (mem->num_sg == 1)
		block->at = vmap(mem->pages->page, mem->pages->count, VM_MAP, PAGE_KERNEL);
	if (!block->at)
		goto unmap;
	block->dma = sg_dma_address(mem->sgt.sgl);
	return 0;

unmap:
	axl_mem_unmap(mem);
free:
	axl_mem_free(mem);
	return err;
}

/* The block may be one that was never allocated. */
void axl_block_free(struct axl_block *block)
{
	if (!block->at)
		return;
	vunmap(block->at);
	block->at = NULL;
	axl_mem_unmap(&block->mem);
	axl_mem_free(&block->mem);
}

/* Mappings share the pages, which stay charged while there is a mapping. */
static void axl_vma_open(struct vm_area_struct *vma)
{
	struct axl_pages *pages = vma->vm_private_data;

	kref_get(&pages->ref);
}

static void axl_vma_close(struct vm_area_struct *vma)
{
	axl_pages_put(vma->vm_private_data);
}

static const struct vm_operations_struct axl_vma_ops = {
	.open = axl_vma_open,
	.close = axl_vma_close,
};

int axl_mem_mmap(struct axl_mem *mem, struct vm_area_struct *vma, unsigned long first_page)
{
	struct axl_pages *pages = mem->pages;
	int err;

	if (pages->pinned || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (first_page >= pages->count || vma_pages(vma) > pages->count - first_page)
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	err = vm_map_pages_zero(vma, pages->page + first_page, pages->count - first_page);
	if (err)
		return err;
	kref_get(&pages->ref);
	vma->vm_private_data = pages;
	vma->vm_ops = &axl_vma_ops;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: host memory that the device reads and writes. Room: kmod.
 *
 * Our own pages (mappable by user space) or pinned user pages, mapped for DMA
 * as a scatter list. Pages are single and reference counted: a user mapping
 * keeps them after the buffer, or the device, is gone. Memory that the DMA
 * layer would bounce is refused, because both sides use it at the same time.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "axl_dev.h"

#define AXL_MEM_MAX_ORDER 10

/* Memory that needs syncs is refused; users may pin a page twice, which syncs would forbid. */
#define AXL_MEM_ATTRS DMA_ATTR_SKIP_CPU_SYNC

/* Fills mem->pages from as few blocks as the allocator can give. */
static int axl_mem_get_pages(struct axl_device *axl, struct axl_mem *mem, unsigned long count)
{
	int node = dev_to_node(&axl->pdev->dev);
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO;
	unsigned int order = AXL_MEM_MAX_ORDER;

	while (mem->num_pages < count) {
		unsigned long left = count - mem->num_pages;
		unsigned int want = min_t(unsigned int, order, get_order(left << PAGE_SHIFT));
		struct page *block;
		unsigned long i;

		block = alloc_pages_node(node, want ? gfp | __GFP_NORETRY | __GFP_NOWARN : gfp,
					 want);
		if (!block) {
			if (!want)
				return -ENOMEM;
			order = want - 1;
			continue;
		}
		if (want)
			split_page(block, want);
		for (i = 0; i < 1ul << want; i++) {
			if (i < left)
				mem->pages[mem->num_pages++] = block + i;
			else
				__free_page(block + i);
		}
	}
	return 0;
}

int axl_mem_alloc(struct axl_device *axl, struct axl_mem *mem, u64 bytes)
{
	unsigned long count = PAGE_ALIGN(bytes) >> PAGE_SHIFT;
	int err;

	mem->pages = kvcalloc(count, sizeof(*mem->pages), GFP_KERNEL_ACCOUNT);
	if (!mem->pages)
		return -ENOMEM;
	err = axl_mem_get_pages(axl, mem, count);
	if (err)
		axl_mem_free(mem);
	return err;
}

/*
 * Pinned pages count against RLIMIT_MEMLOCK of the address space, like those of
 * RDMA: an atomic, since buffers are freed under locks that order after mmap's.
 */
static int axl_mem_charge(struct axl_mem *mem, unsigned long count)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct mm_struct *mm = current->mm;

	if (atomic64_add_return(count, &mm->pinned_vm) > limit && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(count, &mm->pinned_vm);
		return -ENOMEM;
	}
	mmgrab(mm);
	mem->mm = mm;
	return 0;
}

static void axl_mem_uncharge(struct axl_mem *mem, unsigned long count)
{
	atomic64_sub(count, &mem->mm->pinned_vm);
	mmdrop(mem->mm);
	mem->mm = NULL;
}

/* May fault user memory in: call it outside axl_enter() and without locks. */
int axl_mem_pin(struct axl_mem *mem, u64 user_addr, u64 bytes)
{
	unsigned long count = bytes >> PAGE_SHIFT;
	int err;

	mem->pinned = true;
	mem->pages = kvcalloc(count, sizeof(*mem->pages), GFP_KERNEL_ACCOUNT);
	if (!mem->pages)
		return -ENOMEM;
	err = axl_mem_charge(mem, count);
	if (err)
		goto fail;
	while (mem->num_pages < count) {
		int got = pin_user_pages_fast(user_addr + ((u64)mem->num_pages << PAGE_SHIFT),
					      min(count - mem->num_pages, 4096ul),
					      FOLL_WRITE | FOLL_LONGTERM,
					      mem->pages + mem->num_pages);

		if (got <= 0) {
			err = got ? got : -EFAULT;
			goto uncharge;
		}
		mem->num_pages += got;
	}
	return 0;

uncharge:
	axl_mem_uncharge(mem, count);
fail:
	axl_mem_free(mem);
	return err;
}

/* The device's own list, needed when the memory is not one piece on the bus. */
static int axl_mem_make_sg(struct axl_mem *mem)
{
	struct scatterlist *s;
	u64 at = 0;
	int i;

	mem->num_sg = mem->sgt.nents;
	if (mem->num_sg == 1)
		return 0;
	mem->sg_start = kvcalloc(mem->num_sg, sizeof(u64), GFP_KERNEL_ACCOUNT);
	mem->sg = dma_alloc_coherent(mem->dma_dev, (size_t)mem->num_sg * sizeof(*mem->sg),
				     &mem->sg_dma, GFP_KERNEL | __GFP_NOWARN);
	if (!mem->sg_start || !mem->sg)
		return -ENOMEM;
	for_each_sgtable_dma_sg(&mem->sgt, s, i) {
		mem->sg_start[i] = at;
		mem->sg[i].addr = sg_dma_address(s);
		mem->sg[i].bytes = sg_dma_len(s);
		mem->sg[i].reserved = 0;
		at += sg_dma_len(s);
	}
	return 0;
}

/*
 * Whether the device reaches these very pages, not copies in a bounce buffer.
 * Behind an IOMMU dma_need_sync() says yes for all memory: ask what it maps to.
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
			phys_addr_t phys = page_to_phys(mem->pages[at >> PAGE_SHIFT]);

			if (iommu_iova_to_phys(domain, addr) != phys)
				return false;
		} else if (dma_need_sync(dev, addr)) {
			return false;
		}
		at += sg_dma_len(s);
	}
	return true;
}

int axl_mem_map(struct axl_device *axl, struct axl_mem *mem)
{
	struct device *dev = &axl->pdev->dev;
	int err;

	err = sg_alloc_table_from_pages_segment(&mem->sgt, mem->pages, mem->num_pages, 0,
						mem->num_pages << PAGE_SHIFT,
						dma_get_max_seg_size(dev), GFP_KERNEL_ACCOUNT);
	if (err)
		return err;
	err = dma_map_sgtable(dev, &mem->sgt, DMA_BIDIRECTIONAL, AXL_MEM_ATTRS);
	if (err) {
		sg_free_table(&mem->sgt);
		return err;
	}
	mem->dma_dev = dev;
	if (!axl_mem_is_direct(dev, mem)) {
		axl_mem_unmap(mem);
		return -EOPNOTSUPP;
	}
	err = axl_mem_make_sg(mem);
	if (err)
		axl_mem_unmap(mem);
	return err;
}

/* The device lets go; the pages stay. */
void axl_mem_unmap(struct axl_mem *mem)
{
	if (!mem->dma_dev)
		return;
	if (mem->sg)
		dma_free_coherent(mem->dma_dev, (size_t)mem->num_sg * sizeof(*mem->sg), mem->sg,
				  mem->sg_dma);
	kvfree(mem->sg_start);
	dma_unmap_sgtable(mem->dma_dev, &mem->sgt, DMA_BIDIRECTIONAL, AXL_MEM_ATTRS);
	sg_free_table(&mem->sgt);
	mem->sg = NULL;
	mem->sg_start = NULL;
	mem->num_sg = 0;
	mem->dma_dev = NULL;
}

void axl_mem_free(struct axl_mem *mem)
{
	unsigned long i;

	if (mem->pinned) {
		if (mem->mm)
			axl_mem_uncharge(mem, mem->num_pages);
		unpin_user_pages_dirty_lock(mem->pages, mem->num_pages, true);
	} else {
		for (i = 0; i < mem->num_pages; i++)
			__free_page(mem->pages[i]);
	}
	kvfree(mem->pages);
	mem->pages = NULL;
	mem->num_pages = 0;
}

int axl_mem_mmap(struct axl_mem *mem, struct vm_area_struct *vma, unsigned long first_page)
{
	if (mem->pinned || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (first_page >= mem->num_pages || vma_pages(vma) > mem->num_pages - first_page)
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	return vm_map_pages_zero(vma, mem->pages + first_page, mem->num_pages - first_page);
}

/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: the memory layer: pages, quotas, device memory. See axl_dev.h. */
#ifndef _AXL_MEMORY_H
#define _AXL_MEMORY_H

#include "axl_dev.h"

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

#endif /* _AXL_MEMORY_H */

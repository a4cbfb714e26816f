/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: the submission layer: from the ioctl to the doorbell, and waiting. See axl_dev.h. */
#ifndef _AXL_SUBMISSION_H
#define _AXL_SUBMISSION_H

#include "axl_dev.h"

/* State for translating the commands of one job; file->lock is held. */
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

/* How a vector opcode uses its operands. */
#define AXL_V_SRC0		BIT(0)	/* reads rows x cols at src0 */
#define AXL_V_SRC1		BIT(1)	/* reads the same shape, or one row, at src1 */
#define AXL_V_ROW1		BIT(2)	/* reads one row at src1 */
#define AXL_V_INDEX0		BIT(3)	/* reads one index a row at src0, arg0 rows at src1 */
#define AXL_V_SCALAR		BIT(4)	/* writes one value a row */
#define AXL_NUM_VECTOR_OPS	(AXL_OP_VEC_SUM - AXL_OP_VEC_FILL + 1)

/* axl_submit.c */
int axl_ioctl_submit(struct axl_ucmd *ucmd);

/* axl_fetch.c */
int axl_fetch(struct axl_xlate *x, struct axl_desc *ring, u32 at,
	      const struct axl_desc __user *user, u32 num_cmds);

/* axl_validate.c */
int axl_translate(struct axl_xlate *x, struct axl_desc *desc, u32 index);
extern const u8 axl_vector_ops[AXL_NUM_VECTOR_OPS];

/* axl_wait.c */
int axl_ioctl_wait(struct axl_ucmd *ucmd);

#endif /* _AXL_SUBMISSION_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AXL_ABI_H
#define AXL_ABI_H

/*
 * Exits with an error message unless the running QEMU is the one this object
 * was compiled for.
 */
void axl_abi_check(ObjectClass *klass);

#endif /* AXL_ABI_H */

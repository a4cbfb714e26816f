/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Differences between the QEMU releases that axl builds against (7.2 to 10.x).
 * The rest of the device includes QEMU through this header.
 */
#ifndef AXL_COMPAT_H
#define AXL_COMPAT_H

#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "hw/pci/pci.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"

#if __has_include("hw/pci/pci_device.h")
#include "hw/pci/pci_device.h"
#endif
#if __has_include("system/system.h")
#include "system/cpu-timers.h"
#include "system/qtest.h"
#include "system/runstate.h"
#include "system/system.h"
#else
#include "sysemu/cpu-timers.h"
#include "sysemu/qtest.h"
#include "sysemu/runstate.h"
#include "sysemu/sysemu.h"
#endif

#define AXL_QEMU_AT_LEAST(major, minor) \
    (QEMU_VERSION_MAJOR > (major) || \
     (QEMU_VERSION_MAJOR == (major) && QEMU_VERSION_MINOR >= (minor)))

/* QEMU's lock got a shorter name in 9.0. */
#ifdef bql_lock
#define axl_lock() bql_lock()
#define axl_unlock() bql_unlock()
#else
#define axl_lock() qemu_mutex_lock_iothread()
#define axl_unlock() qemu_mutex_unlock_iothread()
#endif

/* Property lists lost their terminator in 10.0, when they became sized arrays. */
#ifdef DEFINE_PROP_END_OF_LIST
#define AXL_PROP_END DEFINE_PROP_END_OF_LIST(),
#define AXL_CLASS_HAS_PROP(dc, i) ((dc)->props_ && (dc)->props_[i].name)
#else
#define AXL_PROP_END
#define AXL_CLASS_HAS_PROP(dc, i) ((i) < (dc)->props_count_)
#endif
#if AXL_QEMU_AT_LEAST(9, 2)
typedef const Property AxlProperty;
#else
typedef Property AxlProperty;
#endif

/* class_init took a mutable pointer until 10.1. */
#if AXL_QEMU_AT_LEAST(10, 1)
typedef const void AxlClassData;
typedef const InterfaceInfo AxlInterfaceInfo;
#else
typedef void AxlClassData;
typedef InterfaceInfo AxlInterfaceInfo;
#endif

/* The hold phase of a reset takes the reset type since 9.1. */
#if AXL_QEMU_AT_LEAST(9, 1)
#define AXL_RESET_HOLD_ARGS Object *obj, ResetType type
#else
#define AXL_RESET_HOLD_ARGS Object *obj
#endif

#endif /* AXL_COMPAT_H */

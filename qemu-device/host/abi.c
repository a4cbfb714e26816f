/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: guard against being loaded into a QEMU other than the one whose headers
 * it was compiled with, where struct layouts would differ silently.
 */
#include "qemu-device/host/compat.h"
#include "qapi/qapi-commands-misc.h"
#if __has_include("qapi/qapi-commands-control.h")
#include "qapi/qapi-commands-control.h"
#endif
#include "qemu-device/host/abi.h"

static G_NORETURN void axl_abi_refuse(const char *what, const char *built, const char *running)
{
    fprintf(stderr, "axl.so: built for QEMU with %s %s, but this one has %s: "
            "run `make` again for the installed QEMU\n", what, built, running);
    exit(1);
}

/*
 * Not every QEMU release reports struct sizes, but a property of the running
 * pci-device class has its offset; properties near the struct's end are
 * compared.
 */
static void axl_abi_offset(DeviceClass *dc, const char *name, size_t built)
{
    for (size_t i = 0; AXL_CLASS_HAS_PROP(dc, i); i++) {
        const Property *p = &dc->props_[i];

        if (!strcmp(p->name, name) && p->offset != built) {
            g_autofree char *b = g_strdup_printf("%zu", built);
            g_autofree char *r = g_strdup_printf("%zu", (size_t)p->offset);
            g_autofree char *what = g_strdup_printf("PCIDevice's '%s' at offset", name);

            axl_abi_refuse(what, b, r);
        }
    }
}

void axl_abi_check(ObjectClass *klass)
{
    DeviceClass *pci = DEVICE_CLASS(object_class_get_parent(klass));
    VersionInfo *v = qmp_query_version(NULL);
    g_autofree char *version = g_strdup_printf("%" PRId64 ".%" PRId64 ".%" PRId64, v->qemu->major,
                                               v->qemu->minor, v->qemu->micro);

    qapi_free_VersionInfo(v);
    if (strcmp(version, QEMU_VERSION)) {
        axl_abi_refuse("version", QEMU_VERSION, version);
    }
    axl_abi_offset(pci, "addr", offsetof(PCIDevice, devfn));
    axl_abi_offset(pci, "romfile", offsetof(PCIDevice, romfile));
    axl_abi_offset(pci, "acpi-index", offsetof(PCIDevice, acpi_index));
}

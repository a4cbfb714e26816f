/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: guard against being loaded into another QEMU than the one whose headers
 * it was compiled with: struct layouts would differ silently.
 */
#include "compat.h"
#include "qapi/qapi-commands-misc.h"
#if __has_include("qapi/qapi-commands-control.h")
#include "qapi/qapi-commands-control.h"
#endif
#include "abi.h"

static G_NORETURN void axl_abi_refuse(const char *what, const char *built, const char *running)
{
    fprintf(stderr, "axl.so: built for QEMU with %s %s, but this one has %s: "
            "run `make` again for the installed QEMU\n", what, built, running);
    exit(1);
}

static void axl_abi_size(const char *type, size_t built)
{
    size_t running = object_type_get_instance_size(type);

    if (running != built) {
        g_autofree char *b = g_strdup_printf("%zu bytes", built);
        g_autofree char *r = g_strdup_printf("%zu", running);
        g_autofree char *what = g_strdup_printf("a '%s' of", type);

        axl_abi_refuse(what, b, r);
    }
}

void axl_abi_check(void)
{
    static bool done;
    VersionInfo *v;
    g_autofree char *version = NULL;

    if (done) {
        return;
    }
    done = true;
    v = qmp_query_version(NULL);
    version = g_strdup_printf("%" PRId64 ".%" PRId64 ".%" PRId64, v->qemu->major, v->qemu->minor,
                              v->qemu->micro);
    qapi_free_VersionInfo(v);
    if (strcmp(version, QEMU_VERSION)) {
        axl_abi_refuse("version", QEMU_VERSION, version);
    }
    axl_abi_size(TYPE_PCI_DEVICE, sizeof(PCIDevice));
    axl_abi_size(TYPE_DEVICE, sizeof(DeviceState));
}

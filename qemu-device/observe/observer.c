/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: creation and destruction of the observers' state. */
#include "qemu-device/observe/state.h"

void axl_observer_init(AxlDevice *s)
{
    s->observe = g_new0(AxlObserver, 1);
}

void axl_observer_free(AxlDevice *s)
{
    g_free(s->observe);
    s->observe = NULL;
}

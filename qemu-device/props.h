/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: the shape of a numeric property, for knobs.c and faults.c. */
#ifndef AXL_PROPS_H
#define AXL_PROPS_H

#include "axl.h"

typedef struct AxlProp {
    const char *name;
    size_t offset; /* of an int64_t in AxlState */
    int64_t min, max;
    bool live;     /* may be set at run time */
    bool size;     /* takes suffixes: 512M */
    bool pow2;     /* 0, or a power of two not below `least` */
    int64_t least;
    void (*apply)(AxlState *s);
    const char *text;
} AxlProp;

void axl_prop_add(ObjectClass *klass, AxlProp *p);

#endif /* AXL_PROPS_H */

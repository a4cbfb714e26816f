// SPDX-License-Identifier: GPL-2.0
/* The daemon's main BPF object. Loads on Linux 6.1 and later. */
#include "daemon/bpf/api.bpf.h"
#include "daemon/bpf/calibrate.bpf.h"
#include "daemon/bpf/driver.bpf.h"
#include "daemon/bpf/library.bpf.h"
#include "daemon/bpf/process.bpf.h"
#include "daemon/bpf/provider.bpf.h"

char LICENSE[] SEC("license") = "GPL";

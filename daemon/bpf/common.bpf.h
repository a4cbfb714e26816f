/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Maps, the process filter and record reservation, shared by all programs. The few kernel fields
 * needed are declared here, so that building does not depend on the build host's kernel.
 */
#ifndef DAEMON_BPF_COMMON_BPF_H_
#define DAEMON_BPF_COMMON_BPF_H_

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "daemon/bpf/losses.bpf.h"
#include "daemon/bpf/records.h"
#include "daemon/bpf/tracked.bpf.h"

#ifndef NULL
#define NULL ((void *)0)
#endif

/* Relocated against the running kernel when the programs are loaded. */
typedef struct {
	__u32 val;
} __attribute__((preserve_access_index)) kuid_t;

typedef struct {
	__u32 val;
} __attribute__((preserve_access_index)) kgid_t;

struct cred {
	kuid_t uid;
	kuid_t euid;
	kgid_t gid;
	kgid_t egid;
} __attribute__((preserve_access_index));

struct linux_binprm {
	unsigned int secureexec : 1;
} __attribute__((preserve_access_index));

typedef struct {
	int counter;
} __attribute__((preserve_access_index)) atomic_t;

struct signal_struct {
	atomic_t live;
} __attribute__((preserve_access_index));

struct task_struct {
	int pid;
	int tgid;
	__u64 start_boottime;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct pid *thread_pid;
	const struct cred *cred;
	unsigned int in_execve : 1;
	char comm[ACT_COMM_BYTES];
} __attribute__((preserve_access_index));

#include "daemon/bpf/numbers.bpf.h"

/* Set by the daemon before loading. */
const volatile __u32 self_pid = 0;
const volatile __u8 system_wide = 0;
const volatile __u32 owner_uid = ACT_ANY_USER;
/* The devices to record, by number. */
const volatile __u32 device_mask = ~0u;

/* The daemon sleeps until the ring contains this many bytes, or until its slow tick. */
const volatile __u64 wake_bytes = 1 << 22;

/*
 * Set when a CPU found wake_bytes in the ring: the next record wakes the daemon once. The daemon
 * sets it to 0 after draining the ring.
 */
__u32 awake = 0;
__u32 wake_wanted = 0;

/* A cache of client_owner(): the last client found, and its process. */
__u64 last_owner = 0;

/* Number of programs that tracked processes have executed so far. */
__u32 last_image = 0;

/* Each CPU checks the ring's fill level once per this many events of a hop. */
#define WAKE_CHECK_EVENTS 64

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24); /* the daemon sets the real size */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ACT_NUM_HOPS);
	__type(key, __u32);
	__type(value, struct act_counts);
} hops SEC(".maps");

/* Processes whose API events the daemon reads from shared memory. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ACT_MAX_TRACKED);
	__type(key, __u32);
	__type(value, __u8);
} ringed SEC(".maps");

/*
 * The owners of the driver's clients. Clients that a process opens while it is recorded are added
 * by a program, earlier ones by the daemon. A client number is never reused.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ACT_MAX_TRACKED);
	__type(key, __u32);
	__type(value, __u32);
} clients SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ACT_MAX_NAMES);
	__type(key, struct act_name_key);
	__type(value, __u8);
} names SEC(".maps");

/* The process that last got a hardware context or completed a job in it; 0 = not a tracked one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ACT_MAX_DEVICES * ACT_MAX_CONTEXTS);
	__type(key, __u32);
	__type(value, __u32);
} context_owner SEC(".maps");

/*
 * Counts an event of this hop for which no record can be made. The counters are updated atomically,
 * because an interrupt may run another program on this CPU in the middle of an increment.
 */
static __always_inline void count_lost(__u32 hop, __u64 now_ns)
{
	struct act_counts *counts = bpf_map_lookup_elem(&hops, &hop);

	if (!counts)
		return;
	__sync_fetch_and_add(&counts->seen, 1);
	note_lost(&counts->lost, now_ns);
}

/* Reserves space in the ring for a record; returns NULL and counts the loss if there is none. */
static __always_inline void *reserve(__u64 bytes, __u32 hop, __u64 now_ns)
{
	struct act_counts *counts = bpf_map_lookup_elem(&hops, &hop);
	void *record;

	if (!counts)
		return NULL;
	if (__sync_fetch_and_add(&counts->seen, 1) % WAKE_CHECK_EVENTS == WAKE_CHECK_EVENTS - 1 &&
	    !awake && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= wake_bytes) {
		awake = 1;
		wake_wanted = 1;
	}
	record = bpf_ringbuf_reserve(&ring, bytes, 0);
	if (record)
		return record;
	note_lost(&counts->lost, now_ns);
	return NULL;
}

static __always_inline void submit(void *record)
{
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (wake_wanted) {
		wake_wanted = 0;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	bpf_ringbuf_submit(record, flags);
}

/* For records that cannot wait until the daemon's next poll. */
static __always_inline void submit_now(void *record)
{
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
}

static __always_inline void fill_head(struct act_head *h, __u64 now_ns, __u16 type, __u32 extra)
{
	__u64 id = current_id();

	h->time_ns = now_ns;
	h->pid = id >> 32;
	h->tid = (__u32)id;
	h->type = type;
	h->cpu = bpf_get_smp_processor_id();
	h->extra = extra;
}

static __always_inline void emit_process(__u32 pid, __u32 tid, __u32 what, __u32 parent,
					 const char *comm)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct act_process *record = reserve(sizeof(*record), ACT_HOP_PROCESS, now_ns);

	if (!record)
		return;
	fill_head(&record->h, now_ns, ACT_PROCESS, what);
	record->h.pid = pid;
	record->h.tid = tid;
	record->parent = parent;
	record->reserved = 0;
	__builtin_memcpy(record->comm, comm, ACT_COMM_BYTES);
	submit(record);
}

/*
 * Numbers a process image uniquely. Pids are reused, and facts about an earlier process with the
 * same pid must not be applied to this one.
 */
static __always_inline __u32 next_generation(void)
{
	return __sync_fetch_and_add(&last_image, 1) + 1;
}

/* The filter: the current process' entry if it is recorded. */
static __always_inline struct act_tracked *current_tracked(void)
{
	__u32 pid = current_id() >> 32;
	struct act_tracked *entry = bpf_map_lookup_elem(&tracked, &pid);
	struct act_tracked fresh = {};
	char comm[ACT_COMM_BYTES] = {};
	bool mine = is_of_process(entry, current_task());

	if (mine || !system_wide || pid == self_pid || pid == 0)
		return mine ? entry : NULL;
	fresh.generation = next_generation();
	if (bpf_map_update_elem(&tracked, &pid, &fresh, entry ? BPF_ANY : BPF_NOEXIST) == 0) {
		bpf_get_current_comm(comm, sizeof(comm));
		emit_process(pid, pid, ACT_PROCESS_SEEN, 0, comm);
	}
	return bpf_map_lookup_elem(&tracked, &pid);
}

#endif /* DAEMON_BPF_COMMON_BPF_H_ */

// SPDX-License-Identifier: GPL-2.0
/*
 * Run states of recorded threads: each time that a thread leaves a CPU, one record describes the
 * time since its previous record. Loads on Linux 6.1 and later.
 *
 * The records of a thread cover its time without gaps; a record that does not fit into the ring is
 * counted and leaves a gap.
 */
#include "daemon/bpf/interrupt.bpf.h"
#include "daemon/bpf/kernel.bpf.h"
#include "daemon/bpf/losses.bpf.h"
#include "daemon/bpf/sched_records.h"

/* Set by the daemon. */
const volatile __u64 wake_bytes = 1 << 20;

/* The wait channel is only read for waits that are long compared to the cost of reading it. */
#define WAIT_LOOK_NS 10000
#define WAKE_CHECK_RECORDS 64

/* The kernel's task states (include/linux/sched.h). */
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED 0x4
#define TASK_TRACED 0x8
#define EXIT_DEAD 0x10
#define EXIT_ZOMBIE 0x20
#define TASK_PARKED 0x40
#define TASK_DEAD 0x80
#define TASK_NOLOAD 0x400
#define TASK_RTLOCK_WAIT 0x1000
#define TASK_FROZEN 0x8000

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} sched_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ACT_MAX_THREADS);
	__type(key, __u32);
	__type(value, struct act_thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct act_sched_counts);
} sched_counts SEC(".maps");

static __always_inline __u8 state_of(unsigned int state)
{
	if (state & (TASK_DEAD | EXIT_DEAD | EXIT_ZOMBIE))
		return ACT_STATE_ENDED;
	if (state & (TASK_STOPPED | TASK_TRACED | TASK_PARKED | TASK_FROZEN))
		return ACT_STATE_STOPPED;
	if (state & (TASK_UNINTERRUPTIBLE | TASK_RTLOCK_WAIT))
		return state & TASK_NOLOAD ? ACT_STATE_SLEEPING : ACT_STATE_BLOCKED;
	if (state & TASK_INTERRUPTIBLE)
		return ACT_STATE_SLEEPING;
	return ACT_STATE_RUNNABLE;
}

static __always_inline void read_counts(struct task_struct *task, struct act_thread_counts *counts)
{
	counts->charged_ns = task->se.sum_exec_runtime;
	counts->minor_faults = task->min_flt;
	counts->major_faults = task->maj_flt;
	counts->migrations = task->se.nr_migrations;
	counts->voluntary = task->nvcsw;
	counts->involuntary = task->nivcsw;
}

static __always_inline struct act_sched_counts *own_counts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&sched_counts, &zero);
}

/* Adds a thread that is seen for the first time; its earlier state is unknown. */
static __always_inline struct act_thread *meet(struct task_struct *task, __u32 tid)
{
	struct act_sched_counts *counts;
	struct act_thread fresh = {};

	fresh.pid = task->tgid;
	read_counts(task, &fresh.reported);
	if (bpf_map_update_elem(&threads, &tid, &fresh, BPF_ANY) != 0) {
		counts = own_counts();
		if (counts)
			__sync_fetch_and_add(&counts->no_room, 1);
		return NULL;
	}
	return bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline struct act_thread *find(struct task_struct *task)
{
	__u32 tid = task->pid;
	struct act_thread *thread;

	if (tid == 0 || (__u32)task->tgid == self_pid)
		return NULL;
	thread = bpf_map_lookup_elem(&threads, &tid);
	if (thread && thread->pid == (__u32)task->tgid)
		return thread;
	if (!is_recorded(task, task->tgid))
		return NULL;
	return meet(task, tid);
}

/* The function in which a sleeping thread waits. The kernel omits the scheduler's functions. */
static __always_inline __u64 wait_channel(struct task_struct *task)
{
	__u64 frame = 0;

	return bpf_get_task_stack(task, &frame, sizeof(frame), 0) > 0 ? frame : 0;
}

static __always_inline void report(struct act_thread *thread, struct task_struct *task,
				   __u64 now_ns, __u8 left)
{
	struct act_sched_counts *counts = own_counts();
	struct act_thread_counts total;
	struct act_run *run;
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (!counts)
		return;
	if (__sync_fetch_and_add(&counts->seen, 1) % WAKE_CHECK_RECORDS == WAKE_CHECK_RECORDS - 1 &&
	    bpf_ringbuf_query(&sched_ring, BPF_RB_AVAIL_DATA) >= wake_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	run = bpf_ringbuf_reserve(&sched_ring, sizeof(*run), 0);
	if (!run) {
		note_lost(&counts->lost, now_ns);
		return;
	}
	read_counts(task, &total);
	run->end_ns = now_ns;
	run->begin_ns = thread->begin_ns;
	run->away_ns = thread->away_ns;
	run->ready_ns = thread->ready_ns;
	run->wait = thread->wait;
	run->counts.charged_ns = total.charged_ns - thread->reported.charged_ns;
	run->counts.minor_faults = total.minor_faults - thread->reported.minor_faults;
	run->counts.major_faults = total.major_faults - thread->reported.major_faults;
	run->counts.migrations = total.migrations - thread->reported.migrations;
	run->counts.voluntary = total.voluntary - thread->reported.voluntary;
	run->counts.involuntary = total.involuntary - thread->reported.involuntary;
	run->pid = thread->pid;
	run->tid = task->pid;
	run->waker_pid = thread->waker_pid;
	run->waker_tid = thread->waker_tid;
	run->cpu = bpf_get_smp_processor_id();
	run->away = thread->away;
	run->left = left;
	run->waker_irq = thread->waker_irq;
	__builtin_memset(run->reserved, 0, sizeof(run->reserved));
	thread->reported = total;
	bpf_ringbuf_submit(run, flags);
}

/*
 * A thread that returns without a wake-up was not asleep: it was woken while it was about to leave,
 * or a signal was pending.
 */
static __always_inline void stayed_awake(struct act_thread *thread)
{
	if (thread->ready_ns)
		return;
	thread->ready_ns = thread->away_ns;
	thread->away = ACT_STATE_RUNNABLE;
	thread->wait = 0;
}

/*
 * Handles a thread that leaves a CPU without a reported switch to it. Some kernels do not report
 * switches away from certain tasks of a host. Its charged run time tells when it began.
 */
static __always_inline void infer_begin(struct act_thread *thread, struct task_struct *task,
					__u64 now_ns)
{
	__u64 ran_ns = task->se.sum_exec_runtime - thread->reported.charged_ns;
	__u64 since_ns = thread->ready_ns ? thread->ready_ns : thread->away_ns;
	struct act_sched_counts *counts = own_counts();

	if (counts)
		__sync_fetch_and_add(&counts->inferred, 1);
	thread->begin_ns = ran_ns < now_ns - since_ns ? now_ns - ran_ns : since_ns;
	stayed_awake(thread);
}

static __always_inline void leave(struct task_struct *task, __u64 now_ns, __u8 left)
{
	struct act_thread *thread = find(task);
	__u32 tid = task->pid;

	if (!thread)
		return;
	if (!thread->begin_ns && thread->away_ns)
		infer_begin(thread, task, now_ns);
	report(thread, task, now_ns, left);
	if (left == ACT_STATE_ENDED) {
		bpf_map_delete_elem(&threads, &tid);
		return;
	}
	thread->begin_ns = 0;
	thread->away_ns = now_ns;
	thread->away = left;
	thread->ready_ns = left == ACT_STATE_RUNNABLE ? now_ns : 0;
	thread->waker_pid = 0;
	thread->waker_tid = 0;
	thread->waker_irq = 0;
	thread->wait = 0;
}

static __always_inline void come(struct task_struct *task, __u64 now_ns)
{
	struct act_thread *thread = find(task);

	if (!thread)
		return;
	thread->begin_ns = now_ns;
	stayed_awake(thread);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u64 now_ns = bpf_ktime_get_ns();

	leave(prev, now_ns, preempt ? ACT_STATE_RUNNABLE : state_of(prev_state));
	come(next, now_ns);
	return 0;
}

/*
 * A task that is woken while it is about to leave its CPU continues, or returns without a wake-up.
 */
static __always_inline void wake(struct act_thread *thread, struct task_struct *task,
				 bool interrupt)
{
	__u64 id = bpf_get_current_pid_tgid();

	if (thread->begin_ns || thread->ready_ns)
		return;
	thread->ready_ns = bpf_ktime_get_ns();
	if ((thread->away == ACT_STATE_SLEEPING || thread->away == ACT_STATE_BLOCKED) &&
	    thread->ready_ns - thread->away_ns >= WAIT_LOOK_NS)
		thread->wait = wait_channel(task);
	if (may_be_told(current_task())) {
		thread->waker_pid = id >> 32;
		thread->waker_tid = (__u32)id;
	}
	thread->waker_irq = interrupt || (__u32)id == 0;
}

static __always_inline int woken(struct task_struct *task, bool interrupt)
{
	__u32 tid = task->pid;
	struct act_thread *thread = bpf_map_lookup_elem(&threads, &tid);

	if (!thread || thread->pid != (__u32)task->tgid) {
		/* It was asleep when the recording of its process began, unless it is on a CPU. */
		if (task->on_cpu || !is_recorded(task, task->tgid))
			return 0;
		thread = meet(task, tid);
		if (!thread)
			return 0;
		thread->away = state_of(task->__state);
	}
	wake(thread, task, interrupt);
	return 0;
}

/* The first is used if the kernel can load it, else the second. */
SEC("?tp_btf/sched_waking")
int BPF_PROG(sched_waking_by, struct task_struct *task)
{
	return woken(task, in_interrupt());
}

SEC("?tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	return woken(task, false);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *task)
{
	struct act_thread *thread = find(task);
	struct act_thread_counts none = {};

	if (!thread)
		return 0;
	thread->reported = none;
	thread->away = ACT_STATE_RUNNABLE;
	wake(thread, task, false);
	thread->away_ns = thread->ready_ns;
	return 0;
}

/* The function address that the daemon wants the name of, one at a time. */
__u64 asked_address = 0;
char name_of_asked[64] = {};

SEC("syscall")
int name_function(void *ctx)
{
	__u64 address = asked_address;

	bpf_snprintf(name_of_asked, sizeof(name_of_asked), "%ps", &address, sizeof(address));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";

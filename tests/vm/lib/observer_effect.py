# SPDX-License-Identifier: Apache-2.0
"""The cases of tests/vm/observer-effect.sh, as TAP."""

import sys

from collection_runs import FULL, LOW, PLAIN, Run, run_guest

# name: (command, limit of "everything on" in %, limit of `--overhead low` if that is tested)
PROGRAMS = {
    "tiny launches": ("axl-observed tiny-launches", 15, 30),
    "dispatch-bound graphs": ("axl-observed dispatch", 15),
    "double-buffered pipeline": ("axl-observed pipeline", 3),
}
# Calls fast enough to fill their ring while the program leaves the only processor no idle time.
BUSY = "axl-transformer --json --no-check --no-stream-weights --tokens 200"


def slower_by(run, base):
    return 100 * max((run.region_ns - base.region_ns) / base.region_ns,
                     (run.device_ns - base.device_ns) / base.device_ns)


class Tap:
    def __init__(self, cases):
        self.count = self.failed = 0
        print(f"1..{cases}")

    def case(self, good, name, remark):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}\n# {remark}")


def main():
    runs = {(name, mode): Run(f"{number}-{mode}", name, mode, 34, command)
            for number, (name, (command, *limits)) in enumerate(PROGRAMS.items())
            for mode in (PLAIN, FULL, LOW)[:1 + len(limits)]}
    warm = [Run(f"{number}-warm", name, PLAIN, 34, command)
            for number, (name, (command, *_)) in enumerate(PROGRAMS.items())]
    busy = Run("busy", "busy", FULL, 34, BUSY)
    # The recorder writes its data at a multiple of 100 ms, here while the program runs.
    alone, flushed = (Run(f"busy-{mode}", "busy", mode, 98, BUSY) for mode in (PLAIN, FULL))
    run_guest([*warm, *runs.values(), busy, alone, flushed])
    tap = Tap(sum(2 + len(limits) for _, *limits in PROGRAMS.values()) + 2)
    error = alone.error or flushed.error
    effect = float("inf") if error else slower_by(flushed, alone)
    tap.case(effect <= 3, "nor does it take the processor when it is to write down what it has",
             error or f"{effect:.2f} %")
    lost = busy.error or busy.report["losses"]["lost"]
    tap.case(lost == 0, "a recorder in idle time loses nothing where there is none",
             f"{lost} lost")
    for name, (_, *limits) in PROGRAMS.items():
        base = runs[name, PLAIN]
        for mode, limit in zip((FULL, LOW), limits):
            run = runs[name, mode]
            good = not run.error and not base.error
            effect = slower_by(run, base) if good else float("inf")
            tap.case(effect <= limit, f"{name}, {mode}: at most {limit} % slower",
                     run.error or base.error or f"{effect:.2f} %")
        run = runs[name, FULL]
        if run.error or base.error:
            tap.case(False, f"{name}: the report says what it cost", run.error or base.error)
            tap.case(False, f"{name}: copies and computing at once", run.error or base.error)
            continue
        true_ns = run.region_ns - base.region_ns
        reported_ns = run.report["tracer"].get("run", {"ns": 0})["ns"]
        allowed_ns = max(0.15 * true_ns, 0.02 * run.region_ns)
        tap.case(abs(reported_ns - true_ns) <= allowed_ns, f"{name}: the report says what it cost",
                 f"{reported_ns} ns reported, {true_ns} ns in truth")
        reported_ns = run.report["breakdown"]["overlap"]["ns"]
        tap.case(abs(reported_ns - base.overlap_ns) <= max(0.25 * base.overlap_ns, 2000),
                 f"{name}: copies and computing at once",
                 f"{reported_ns} ns reported, {base.overlap_ns} ns when not recorded")
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())

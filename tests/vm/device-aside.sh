#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# serial
#
# The monitor answers while the largest command is computed, under icount and without. Under icount
# the result is the same to the byte whichever thread computes. The monitor must not be used then,
# since each question stops the CPU where it is, and a string instruction that is stopped in the
# middle counts again.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
echo 1..5
count=0
result() { # STATUS NAME
	count=$((count + 1))
	[ "$1" = 0 ] || printf 'not '
	echo "ok $count - device-aside: $2"
}

# Succeeds once the monitor has said twice in a row, during a command, that the VM runs.
watch() {
	python3 -B - "$dir/qmp" "$dir/done" <<-'END'
		import json, os, socket, sys, time
		path, done = sys.argv[1:]
		while not os.path.exists(path) and not os.path.exists(done):
		    time.sleep(0.05)
		qmp = socket.socket(socket.AF_UNIX)
		try:
		    qmp.connect(path)
		    stream = qmp.makefile("rw")
		    def ask(command, **arguments):
		        stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
		        stream.flush()
		        while True:
		            reply = json.loads(stream.readline())
		            if "return" in reply or "error" in reply:
		                return reply.get("return")
		    ask("qmp_capabilities")
		    seen = 0
		    while seen < 2:
		        now = ask("qom-get", path="/machine/peripheral/axl0", property="aside-now")
		        runs = ask("query-status")["running"]
		        seen = seen + 1 if now and runs else 0
		        time.sleep(0 if now else 0.02)
		except (OSError, ValueError):
		    sys.exit(1)
	END
}

times=2
# guest NAME WORK OPTIONS...: runs WORK of the largest matmuls. watched ...: also checks that the
# monitor answered.
guest() {
	name=$1 work=$2
	shift 2
	scripts/vm --timeout 250 "$@" \
		--device "axl,aside-work=$work,truth=$dir/$name.jsonl" -- \
		env AXL_LARGE=$times build/test/driver-large >"$dir/$name.out" 2>&1
	status=$?
	[ $status = 0 ] || sed 's/^/# /' "$dir/$name.out"
}
watched() {
	rm -f "$dir/qmp" "$dir/done"
	watch &
	watcher=$!
	guest "$@" --qmp "$dir/qmp"
	touch "$dir/done"
	wait $watcher
	answered=$?
}

watched plain 16777216
result "$((status || answered))" 'the monitor answers in the middle'
watched asked 16777216 --icount --sealed --file build/test/driver-large
result $status 'under icount the largest matmul is right'
result $answered 'and the monitor answers in the middle of it'
times=1
watched asked-at-once 0
result "$((status || !answered))" 'computed at once, the monitor does not'
guest icount 16777216 --icount --sealed --file build/test/driver-large
guest at-once 0 --icount --sealed --file build/test/driver-large
cmp "$dir/icount.jsonl" "$dir/at-once.jsonl"
same=$?
[ $same = 0 ] || diff "$dir/icount.jsonl" "$dir/at-once.jsonl" | cut -c1-300 | head -n 8 | sed 's/^/# /'
result $same 'the truth logs are the same'

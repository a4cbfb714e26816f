#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# The machine sleeps while the device is at work; a key pressed each second wakes it.
# Arguments name some tests.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -B - "$dir/qmp" <<-'END' &
	import json, os, socket, sys, time
	while not os.path.exists(sys.argv[1]):
	    time.sleep(0.1)
	qmp = socket.socket(socket.AF_UNIX)
	qmp.connect(sys.argv[1])
	key = {"keys": [{"type": "qcode", "data": "shift"}]}
	try:
	    qmp.sendall(b'{"execute":"qmp_capabilities"}')
	    while True:
	        time.sleep(1)
	        qmp.sendall(json.dumps({"execute": "send-key", "arguments": key}).encode())
	        qmp.recv(65536)
	except OSError:
	    pass
END
keys=$!
scripts/vm --sealed --cpus 2 --timeout 250 --qmp "$dir/qmp" --file build/test/driver-sleep -- \
	build/test/driver-sleep "$@"
status=$?
kill $keys 2>/dev/null
exit $status

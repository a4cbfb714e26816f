#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# One processor, which others keep busy: the recorder works in idle time, of which there is none, and
# still loses nothing, from the first event to the last. Some of what tests/bench/verify records.
# Sealed: no host, however busy, lets the devices go on while the guest waits.
SEALED=1 exec tests/vm/lib/ordinary-life.sh beside_others attached_to_one_of_two the_whole_system \
	a_snapshot late_interrupts

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# One processor that is always busy: the recorder works in idle time, of which there is none, and
# still loses nothing, from the first event to the last. Makes some of the recordings of
# tests/bench/verify. Sealed, so that a busy host does not let the devices continue while the guest
# waits.
SEALED=1 exec tests/vm/lib/ordinary-life.sh beside_others attached_to_one_of_two the_whole_system \
	a_snapshot late_interrupts

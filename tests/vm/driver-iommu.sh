#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# The driver's memory with an IOMMU: buffers, pinned pages, rings of every size. The other tests run
# without one, where scatter lists have many entries.
exec scripts/vm --iommu --cpus 2 --timeout 250 -- sh -c '
case $(cat /sys/class/axl/axl0/device/iommu_group/type) in
DMA*) export AXL_IOMMU=1 ;;
*)
	echo "not ok - driver-iommu: the device is not behind an IOMMU"
	exit 1
	;;
esac
for name in context buffer submit wait observe hostring; do
	build/test/driver-$name || status=1
done
exit ${status:-0}'

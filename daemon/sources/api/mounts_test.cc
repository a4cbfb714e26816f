// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api/mounts.h"

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

using By = Mounts::By;

TEST_CASE("file systems that programs serve are told from the kernel's") {
  Mounts mounts;
  mounts.Add(
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "30 22 0:25 / /run rw,nosuid - tmpfs tmpfs rw\n"
      "31 22 0:41 / /home/u/a\\040-\\040b rw - fuse.sshfs u@h: rw,user_id=1000\n"
      "32 22 0:42 / /mnt/plain rw - fuse hostile rw\n"
      "33 22 8:33 / /mnt/usb rw - fuseblk /dev/sdc1 rw\n"
      "34 22 0:43 / /mnt/host rw - virtiofs share rw\n"
      "nonsense\n35 22 x:y / /mnt - fuse\n",
      false);
  CHECK(mounts.Served(8, 1) == By::kKernel);
  CHECK(mounts.Served(0, 25) == By::kKernel);
  CHECK(mounts.Served(0, 41) == By::kProgram);
  CHECK(mounts.Served(0, 42) == By::kProgram);
  CHECK(mounts.Served(8, 33) == By::kProgram);
  CHECK(mounts.Served(0, 43) == By::kKernel);
  // Not mounted: a disk, or an unknown file system.
  CHECK(mounts.Served(259, 3) == By::kKernel);
  CHECK(mounts.Served(0, 99) == By::kUnknown);
  // The first entry is used: what a process claims must not redefine a number.
  mounts.Add("36 22 0:41 / /elsewhere rw - tmpfs tmpfs rw", false);
  CHECK(mounts.Served(0, 41) == By::kProgram);
}

TEST_CASE("a file system that no line has the device of is known by the file's mount") {
  Mounts mounts;
  mounts.Add(
      "40 1 0:50 / / rw - overlay overlay rw,lowerdir=/l\n"
      "41 1 0:51 / /a rw - overlay overlay rw\n"
      "42 1 0:52 / /b rw - btrfs /dev/sda2 rw,subvol=/x\n"
      "43 1 0:53 / /c rw - fuse.x x rw\n",
      false);
  mounts.Add("90 1 0:50 / /var/merged rw - overlay overlay rw\n", true);
  CHECK(mounts.ServedMount(40) == By::kKernel);   // root has mounted it, too
  CHECK(mounts.ServedMount(41) == By::kUnknown);  // the process chose what it is based on
  CHECK(mounts.ServedMount(42) == By::kKernel);
  CHECK(mounts.ServedMount(43) == By::kProgram);
  CHECK(mounts.ServedMount(90) == By::kKernel);
  CHECK(mounts.ServedMount(0) == By::kUnknown);
}

}  // namespace
}  // namespace acceltrace::daemon

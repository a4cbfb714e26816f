// SPDX-License-Identifier: Apache-2.0
#ifndef QEMU_DEVICE_TESTS_ON_DEVICE_H_
#define QEMU_DEVICE_TESTS_ON_DEVICE_H_

#include <memory>
#include <string>

#include "qemu-device/tests/cases.h"

namespace acceltrace::device {

// The whole device, through its registers, under qtest.
std::unique_ptr<Bench> MakeDeviceBench(const std::string& properties);

}  // namespace acceltrace::device

#endif  // QEMU_DEVICE_TESTS_ON_DEVICE_H_

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulator's QMP monitor from inside the guest, over a virtio port that the
 * scripts in tests/vm/driver-*.sh add: faults of the device, plug and unplug.
 */
#ifndef TESTS_DRIVER_QMP_H_
#define TESTS_DRIVER_QMP_H_

/* Sends one command (JSON); returns 0, or -1 with the answer in a comment of the test. */
int qmp(const char *command);
/* Sets a property of the device "axl0". */
int qmp_set(const char *property, long long value);
/* Returns -1 if there is no such device or property. */
long long qmp_get(const char *property);
/* Injects an AER error into "axl0": status and four header words, see pcie_aer_inject_error. */
int qmp_bus_error(const char *error);
int qmp_unplug(void);
int qmp_plug(void);

#endif /* TESTS_DRIVER_QMP_H_ */

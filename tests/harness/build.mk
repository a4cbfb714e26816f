# SPDX-License-Identifier: Apache-2.0
$(eval $(call program,$(BUILD)/test/silent-cases,tests/harness/silent_cases.cc tests/catch_main.cc,))
TESTS += $(BUILD)/test/silent-cases

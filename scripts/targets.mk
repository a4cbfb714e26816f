# SPDX-License-Identifier: Apache-2.0
#
# The targets people type. Included last by the Makefile.
.PHONY: help clean
help:
	@echo 'make            build everything'
	@echo 'make clean      remove build/'
clean:
	rm -rf $(BUILD)

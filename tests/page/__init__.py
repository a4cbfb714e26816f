# SPDX-License-Identifier: Apache-2.0
"""The page of acceltrace html, driven in a browser."""

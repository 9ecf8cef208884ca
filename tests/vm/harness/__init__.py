# SPDX-License-Identifier: GPL-2.0-only
"""A laboratory of stock Debian kernels in virtual machines."""

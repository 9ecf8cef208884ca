# SPDX-License-Identifier: GPL-2.0-only
"""Experiments in virtual time: kernels, modelled disks, scenarios and their results."""

# SPDX-License-Identifier: GPL-2.0-only
"""User-Mode Linux as the machine under a guest of the functional tests, in real time."""

import socket
from pathlib import Path

from harness.guest import Guest
from harness.machine import CMDLINE, Machine, Options, UnsupportedError, spawn

from .kernel import WITH_DETECTORS, LabKernel, get_lab_kernel
from .uml import REPO, uml_argv, uml_environment

INIT = REPO / "tests/lab/guest/init-root"
AGENT = "/dev/ttyS0"
# Report every finding, not only the first of its kind.  Debugged caches keep no lists of free
# objects, in which kmemleak would find references to lost objects.
DETECTORS_CMDLINE = "kasan_multi_shot slab_debug=F sysctl.kernel.hung_task_timeout_secs=60"
DETECTORS_PATIENCE = 5  # they slow everything down


class Uml(Machine):
    """A kernel of the laboratory; the agent's socket is its first serial line."""

    # A line that was throttled once (its terminal holds 4096 bytes) reads no more.
    line_bytes = 2048

    def __init__(self, kernel: LabKernel, options: Options, directory: Path, agent: socket.socket):
        if options.icount:
            raise UnsupportedError("time that is instructions needs an emulated processor")
        if options.systemd:
            raise UnsupportedError("systemd is there in QEMU only")
        if options.disks_mib:
            raise UnsupportedError("virtual disks are there in QEMU only")
        if "memmap=" in options.cmdline:
            raise UnsupportedError("only a PC's memory map can have persistent memory in it")
        self.console = self.log = directory / "console.log"
        detectors = kernel.variant in WITH_DETECTORS
        self.patience = DETECTORS_PATIENCE if detectors else 1
        words = [
            f"ssl0=fd:{agent.fileno()}",
            *((f"ncpus={options.smp}",) if not detectors else ()),
            *CMDLINE.split(),
            "null_blk.nr_devices=0",
            *(DETECTORS_CMDLINE.split() if detectors else ()),
            f"lab.cgroup={options.cgroup}",
            f"lab.agent={AGENT}",
            f"lab.modules={kernel.modules}",
            f"lab.share={directory / 'share'}",
            *options.cmdline.split(),
        ]
        self.proc = spawn(
            uml_argv(kernel, INIT, directory, options.memory_mib, *words),
            self.log,
            env=uml_environment(directory, options.memory_mib),
            pass_fds=(agent.fileno(),),
        )


def boot(name: str, **options: object) -> Guest:
    """A guest on a kernel of the laboratory."""
    return Guest(get_lab_kernel(name), Uml, **options)

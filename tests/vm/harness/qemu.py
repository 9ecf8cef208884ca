# SPDX-License-Identifier: GPL-2.0-only
"""A stock kernel in QEMU, with the host's root below it over 9p."""

import itertools
import json
import os
import socket
from pathlib import Path
from typing import Any

from .debian_initramfs import ROOT_INIT
from .firmware import secure_boot
from .initramfs import make_initramfs
from .kernels import Kernel
from .machine import CMDLINE, Machine, Options, spawn
from .vmlinux import vmlinux

# Switches off features that are slow to emulate: page tables of five levels, REP MOVSB and
# REP STOSB for copies, and STAC and CLAC around each access to a user's memory.
CPU = "max,-la57,-erms,-fsrm,-smap"
# An emulated processor on a busy host is slow, which must not look like a lockup.  With
# randomised addresses the code of each process would be translated anew (norandmaps).
QEMU_CMDLINE = (
    f"console=ttyS0 {CMDLINE} nokaslr norandmaps tsc=reliable mitigations=off "
    "random.trust_cpu=on watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=60 "
    "sysctl.kernel.hung_task_timeout_secs=60"
)
# Without a tick an idle guest jumps by minutes.  While it waits for its host, its time may
# still jump, which RCU takes for a stall; the watchdog of soft lockups still sees loops.
ICOUNT_CMDLINE = "nohz=off rcupdate.rcu_cpu_stall_suppress=1"
# QEMU answers at once, but may starve on a busy host, and a guest has to release a disk.
CONTROL_TIMEOUT_S = 120
# The device and bus of a plugged disk, by its kind.
DRIVERS = {"scsi": ("scsi-hd", "scsi.0"), "virtio": ("virtio-blk-pci", "pci.0")}


class Qemu(Machine):
    """QEMU, with a second socket for its control."""

    def __init__(self, kernel: Kernel, options: Options, directory: Path, agent: socket.socket):
        self._kernel = kernel
        self._options = options
        self._dir = directory
        self.console = directory / "console.log"
        self.log = directory / "qemu.log"
        self._root = ""  # logical volume of the root, if any.
        self._initramfs: Path | None = None  # Debian's, if used.
        self._plugged: dict[str, tuple[int, str, int]] = {}  # size, bus and MB/s by name.
        self._start(agent)

    def _start(self, agent: socket.socket) -> None:
        self._images: set[str] = set()  # plugged disks that this process has open.
        self._leaving: set[str] = set()  # pulled out, but not released by the guest yet
        self._qmp, theirs = socket.socketpair()
        with theirs:
            argv = self._argv()
            argv += ["-chardev", f"socket,id=agent,fd={agent.fileno()}"]
            argv += ["-chardev", f"socket,id=qmp,fd={theirs.fileno()}", "-mon", "qmp,mode=control"]
            self.proc = spawn(argv, self.log, pass_fds=(agent.fileno(), theirs.fileno()))
        self._qmp.settimeout(CONTROL_TIMEOUT_S)
        self._qmp_file = self._qmp.makefile("rw")
        self._control("qmp_capabilities")

    def _argv(self) -> list[str]:
        options = self._options
        words = [
            *self._processor(),
            ("-m", str(options.memory_mib)),
            ("-display", "none"),
            ("-serial", f"file:{self.console}"),
            *self._what_boots(),
            # QEMU waits for all queues of all ports; the first port is for a console.
            ("-device", "virtio-serial-pci,max_ports=2"),
            ("-device", "virtserialport,chardev=agent,name=agent"),
            ("-object", "rng-random,id=rng,filename=/dev/urandom"),
            ("-device", "virtio-rng-pci,rng=rng"),
            *([("-device", "virtio-scsi-pci,id=scsi")] if options.systemd else []),
            *([("-plugin", options.plugin)] if options.plugin else []),
            *self._shared("host", Path("/"), "readonly=on"),
            *self._shared("share", self._dir / "share"),
            *(
                option
                for number, size in enumerate(options.disks_mib)
                for option in self._disk(number, size)
            ),
        ]
        return ["qemu-system-x86_64", "-nodefaults", "-no-reboot", *itertools.chain(*words)]

    def _what_boots(self) -> list[tuple[str, str]]:
        """The kernel, or a firmware that finds it on a disk."""
        options = self._options
        initramfs = self._initramfs or self._dir / "initramfs"
        if not self._initramfs:
            make_initramfs(initramfs, self._kernel)
        base = [QEMU_CMDLINE, ICOUNT_CMDLINE] if options.icount else [QEMU_CMDLINE]
        cmdline = " ".join([*base, *self._settings(), options.cmdline])
        if options.secure_boot:
            return secure_boot(self._dir, self._kernel, initramfs, cmdline)
        return [
            ("-kernel", str(vmlinux(self._kernel))),
            ("-initrd", str(initramfs)),
            ("-append", cmdline),
        ]

    def _settings(self) -> list[str]:
        """Settings for the guest's first process, on the kernel's command line."""
        cgroups = "systemd" if self._options.systemd else self._options.cgroup
        settings = [f"lab.cgroup={cgroups}", "lab.agent=/dev/virtio-ports/agent"]
        if self._root:
            settings.append(f"lab.root={self._root}")
        if self._initramfs:
            settings += [f"root=/dev/mapper/{self._root.replace('/', '-')}", f"init={ROOT_INIT}"]
        return settings

    def _processor(self) -> list[tuple[str, str]]:
        if self._options.icount:
            clock = [("-accel", "tcg,thread=single"), ("-icount", "shift=0,sleep=off")]
            return [*clock, ("-smp", "1"), ("-cpu", CPU)]
        smp = ("-smp", str(self._options.smp))
        accel = os.environ.get("IOBAND_ACCEL", "tcg")
        if accel not in ("tcg", "kvm"):
            raise ValueError(f"IOBAND_ACCEL={accel}: must be tcg or kvm")
        if accel == "kvm":
            return [("-accel", accel), smp, ("-cpu", "host")]
        threads = "multi" if self._options.parallel else "single"
        return [("-accel", f"tcg,thread={threads}"), smp, ("-cpu", CPU)]

    def _shared(self, tag: str, path: Path, option: str = "readonly=off") -> list[tuple[str, str]]:
        source = f"local,id={tag},path={path},security_model=none,multidevs=remap,{option}"
        return [("-fsdev", source), ("-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}")]

    def _image(self, name: str, size_mib: int) -> Path:
        """The file of a disk, made when missing."""
        image = self._dir / f"{name}.img"
        if not image.exists():
            image.touch()
            os.truncate(image, size_mib << 20)
        return image

    def _disk(self, number: int, size_mib: int) -> list[tuple[str, str]]:
        image = self._image(f"disk{number}", size_mib)
        drive = f"file={image},if=none,id=d{number},format=raw,cache=unsafe"
        return [
            ("-drive", drive),
            ("-device", f"virtio-blk-pci,drive=d{number},serial=disk{number}"),
        ]

    def _control(self, command: str, **arguments: Any) -> None:
        """One command to QEMU itself."""
        self._qmp_file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._qmp_file.flush()
        for line in self._qmp_file:
            answer = json.loads(line)
            if "error" in answer:
                raise RuntimeError(f"QEMU: {command} {arguments}: {answer['error']['desc']}")
            if "return" in answer:
                return
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        """Handle an event of QEMU; only the removal of a device matters."""
        if event.get("event") == "DEVICE_DELETED":
            self._leaving.discard(event["data"].get("device"))

    def _await_gone(self, name: str) -> None:
        """Wait until QEMU has removed a disk; the guest may see that earlier or later."""
        while name in self._leaving and (line := self._qmp_file.readline()):
            self._note(json.loads(line))

    def run(self, running: bool) -> None:
        """Stop the guest between requests: under icount an idle guest uses a host CPU fully."""
        if self._options.icount:
            self._control("cont" if running else "stop")

    def press(self, key: str) -> None:
        """Press a key of its keyboard."""
        self._control("send-key", keys=[{"type": "qcode", "data": key}])

    def start_again(self, root: str, initramfs: Path | None, agent: socket.socket) -> None:
        """End it, and start it with the disks that are plugged in."""
        self.close()
        self._root = root
        self._initramfs = initramfs
        self._start(agent)
        for name in self._plugged:
            self._plug(name)

    def plug(self, name: str, size_mib: int, bus: str, mbps: int = 0) -> None:
        """Plug a disk in, with its name as its serial number."""
        self._plugged[name] = (size_mib, bus, mbps)
        self._plug(name)

    def _plug(self, name: str) -> None:
        self._await_gone(name)
        size_mib, bus, mbps = self._plugged[name]
        if name not in self._images:
            file = {"driver": "file", "filename": str(self._image(name, size_mib))}
            node = {"node-name": name, "driver": "raw", "file": file}
            self._control("blockdev-add", cache={"no-flush": True}, **node)
            self._images.add(name)
            if mbps:
                self._limit(name, mbps)
        driver, where = DRIVERS[bus]
        kind = {"drive": f"{name}-limited", "rotation_rate": 1} if mbps else {"drive": name}
        self._control("device_add", driver=driver, bus=where, id=name, serial=name, **kind)

    def _limit(self, name: str, mbps: int) -> None:
        """Put a node with this bandwidth over that of a disk."""
        group = {"qom-type": "throttle-group", "id": f"{name}-limit"}
        self._control("object-add", limits={"bps-total": mbps * 1000000}, **group)
        node = {"node-name": f"{name}-limited", "driver": "throttle"}
        self._control("blockdev-add", file=name, **node, **{"throttle-group": f"{name}-limit"})

    def unplug(self, name: str) -> None:
        """Pull a disk out."""
        self._leaving.add(name)
        self._control("device_del", id=name)
        del self._plugged[name]

    def blank(self, name: str) -> None:
        """Replace a disk that was pulled out by an empty one: all zeroes."""
        self._await_gone(name)
        image = self._dir / f"{name}.img"
        if image.exists():
            size = image.stat().st_size
            os.truncate(image, 0)
            os.truncate(image, size)

    def close(self) -> None:
        """End it."""
        super().close()
        self._qmp_file.close()
        self._qmp.close()

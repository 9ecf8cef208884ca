# SPDX-License-Identifier: GPL-2.0-only
"""A root on a volume, which dracut's initramfs mounts once ioband is in it."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.debian_initramfs import make_root
from harness.dracut import make_dracut_initramfs
from harness.hotplug import Machine
from harness.kernels import get_kernel, own_kernel_name
from harness.module import build_module
from harness.tool import build_tool
from test_udev import SYSTEM, forget_system

pytestmark = pytest.mark.guest(systemd=True)
INSERT = "[device root]\nvolume = vg0/root\ninsert = yes\npool = p\n"


@pytest.mark.long("dracut makes an initramfs")
@pytest.mark.guest(systemd=False)
def test_the_module_is_there_for_a_host_without_devices(tmp_path: Path) -> None:
    """dracut's hostonly mode takes only drivers that are loaded, which no ioband is here."""
    kernel = get_kernel(own_kernel_name())
    (module,) = build_module(kernel)
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/etc/ioband.conf").write_text(INSERT)
    (tmp_path / "root/usr/sbin").mkdir(parents=True)
    shutil.copy(build_tool(), tmp_path / "root/usr/sbin/iobandctl")
    image = tmp_path / "initramfs"
    listed = make_dracut_initramfs(image, kernel, tmp_path / "root", module, "--hostonly")
    assert "/dm-ioband.ko" in listed, listed


@pytest.fixture
def booted(machine: Machine) -> Iterator[Machine]:
    """A machine that dracut's initramfs has booted on vg0/root."""
    guest = machine.guest
    machine.configure(None)
    guest.plug("system", 128)
    machine.wait(SYSTEM)
    machine.make_volumes("vg0", SYSTEM, "48M", "root")
    guest.run(["mkfs.ext4", "-q", "/dev/vg0/root"])
    make_root(guest, "vg0/root")
    machine.configure(INSERT, fstab="/dev/vg0/root / ext4 defaults 0 0\n")
    initramfs = guest.share / "initramfs"
    (module,) = build_module(guest.kernel)
    listed = make_dracut_initramfs(initramfs, guest.kernel, machine.root, module)
    for file in ("/dm-ioband.ko", "sbin/iobandctl", "etc/ioband.conf", "50-ioband-insert.sh"):
        assert file in listed, listed
    guest.reboot(cut=True, root="vg0/root", initramfs=initramfs)
    yield machine
    if not guest.alive:
        return
    machine.configure(None, fstab="")
    guest.reboot(cut=True)
    machine.wait("/dev/vg0/root")  # LVM activates it when it comes to it
    forget_system(machine)


@pytest.mark.long("boots three times, once by an initramfs that dracut makes")
def test_ioband_is_under_root_before_it_is_mounted(booted: Machine) -> None:
    machine, guest = booted, booted.guest
    assert guest.boot_state == "running", machine.journal()
    assert machine.source("/") == "/dev/mapper/vg0-root"
    assert " ioband " in guest.run(["dmsetup", "table", "vg0-root"]).out
    assert "iobandctl: in the initramfs: " in machine.journal("-k")
    assert "not inserted" not in machine.journal("-k")
    # The rules of the running system have found nothing to do.
    assert json.loads(guest.run(["iobandctl", "apply", "--json"]).out) == {"changes": []}
    before = machine.written()
    guest.run("dd if=/dev/zero of=/lab/written bs=64k count=4 conv=fsync")
    assert machine.written() - before >= 4 << 16

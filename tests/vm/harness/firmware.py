# SPDX-License-Identifier: GPL-2.0-only
"""A machine with Secure Boot, as Debian is installed on one.

The firmware has Microsoft's keys, and starts shim, which one of these keys has signed.
shim has Debian's key and the enrolled keys of the machine.  It starts GRUB, and GRUB the
kernel, both signed by Debian.  The loaders are unpacked instead of installed, because
their packages would change the disk that this machine boots from.
"""

import shutil
import time
from pathlib import Path

from .kernels import Kernel
from .machine import Machine
from .trees import own_archive, unpacked

FIRMWARE = Path("/usr/share/OVMF")
PACKAGES = ("shim-signed", "shim-helpers-amd64-signed", "grub-efi-amd64-signed")
# Their paths in the packages, and the paths that the firmware and shim read.
LOADERS = {
    "usr/lib/shim/shimx64.efi.signed": "EFI/BOOT/BOOTX64.EFI",
    "usr/lib/shim/mmx64.efi.signed": "EFI/BOOT/mmx64.efi",
    "usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed": "EFI/BOOT/grubx64.efi",
}
GRUB_CFG = "linux /vmlinuz {cmdline}\ninitrd /initramfs\nboot\n"
# The questions of shim's manager when it enrols a key, and the keys that answer them.
QUESTIONS = (
    ("Press any key to perform MOK management", ["ret"]),
    ("Enroll MOK", ["down", "ret"]),
    ("View key 0", ["down", "ret"]),
    ("Enroll the key(s)?", ["down", "ret"]),
    ("Password:", []),
    ("Reboot", ["ret"]),
)
ANSWER_S = 120


def _loaders() -> Path:
    """The unpacked packages, of the Debian release that this machine runs."""
    archive = own_archive()
    packages = [each for each in archive.resolve(*PACKAGES) if each.name in PACKAGES]
    return unpacked("loaders", archive, packages)


def secure_boot(
    directory: Path, kernel: Kernel, initramfs: Path, cmdline: str
) -> list[tuple[str, str]]:
    """QEMU's options for such a machine; its variables stay from boot to boot."""
    variables, system = directory / "variables", directory / "system-partition"
    if not variables.exists():
        shutil.copyfile(FIRMWARE / "OVMF_VARS_4M.ms.fd", variables)
        loaders = _loaders()
        for path, target in LOADERS.items():
            (system / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(loaders / path, system / target)
        shutil.copyfile(kernel.vmlinuz, system / "vmlinuz")
        (system / "EFI/debian").mkdir()
    shutil.copyfile(initramfs, system / "initramfs")
    (system / "EFI/debian/grub.cfg").write_text(GRUB_CFG.format(cmdline=cmdline))
    flash = "if=pflash,format=raw"
    return [
        ("-machine", "q35,smm=on"),
        ("-global", "driver=cfi.pflash01,property=secure,value=on"),
        ("-drive", f"{flash},unit=0,readonly=on,file={FIRMWARE}/OVMF_CODE_4M.secboot.fd"),
        ("-drive", f"{flash},unit=1,file={variables}"),
        ("-blockdev", f"driver=vvfat,node-name=system,dir={system},read-only=on"),
        ("-device", "virtio-blk-pci,drive=system,serial=system,bootindex=1"),
    ]


def enrol_key(machine: Machine, password: str) -> None:
    """Answer shim's questions after "mokutil --import" at the machine's keyboard."""
    seen = 0
    for question, keys in QUESTIONS:
        seen = _await_text(machine, question, seen)
        for key in keys or [*password, "ret"]:
            machine.press(key)
    machine.proc.wait(ANSWER_S)


def _await_text(machine: Machine, text: str, seen: int) -> int:
    """Wait for a text in the console from offset seen on; returns the end of that text."""
    deadline = time.monotonic() + ANSWER_S
    while time.monotonic() < deadline and machine.proc.poll() is None:
        at = machine.console.read_text(errors="replace").find(text, seen)
        if at >= 0:
            return at + len(text)
        time.sleep(0.2)
    end = machine.console.read_text(errors="replace")[seen:][-2000:]
    raise TimeoutError(f"the console does not say {text!r}:\n{end}")

# SPDX-License-Identifier: GPL-2.0-only
"""make install, make uninstall and DKMS, as on a machine that runs the kernel.

The built module is then loaded into a guest, and makes a device.
"""

import shutil
from fnmatch import fnmatch
from pathlib import Path

import pytest
from harness.devices import null_blk
from harness.guest import Guest
from harness.installed import run_installed
from harness.ioband import Ioband
from harness.module import REPO

# The files that are installed below /usr, but for the module and the pages of verbs.
STAGED = [
    "usr/lib/dm-ioband/ioband-disk",
    "usr/lib/systemd/system/ioband-gone@.service",
    "usr/lib/systemd/system/ioband-insert@.service",
    "usr/lib/systemd/system/ioband-wrap@.service",
    "usr/lib/systemd/system/iobandctl-metrics.service",
    "usr/lib/systemd/system/iobandctl-metrics.timer",
    "usr/lib/systemd/system/iobandctl-watch.service",
    "usr/lib/udev/rules.d/62-ioband-insert.rules",
    "usr/lib/udev/rules.d/63-wrap-ioband.rules",
    "usr/sbin/iobandctl",
    "usr/share/bash-completion/completions/iobandctl",
    "usr/share/dm-ioband/ioband-alerts.yml",
    "usr/share/dm-ioband/ioband-dashboard.json",
    "usr/share/dm-ioband/iobandctl.schema.json",
    "usr/share/fish/vendor_completions.d/iobandctl.fish",
    "usr/share/man/man5/ioband.conf.5",
    "usr/share/man/man8/iobandctl.8",
    "usr/share/zsh/site-functions/_iobandctl",
]


class Machine:
    """This machine, with a kernel of the laboratory installed."""

    def __init__(self, guest: Guest, directory: Path):
        self._kernel = guest.kernel
        self.directory = directory
        self.release = guest.kernel.release

    def run(self, command: str) -> str:
        """Output of a command; $RELEASE and $OUT are set, and the directory is a checkout."""
        checkout = self.directory / "checkout"
        return run_installed(
            self._kernel, f"cd {checkout}\n{command}", HOME=self.directory, OUT=self.directory
        )


@pytest.fixture
def machine(guest: Guest, tmp_path: Path) -> Machine:
    """A machine with a checkout of its own in $OUT/checkout."""
    leave = shutil.ignore_patterns("build", ".git", "__pycache__")
    shutil.copytree(REPO, tmp_path / "checkout", symlinks=True, ignore=leave)
    return Machine(guest, tmp_path)


def works(guest: Guest, module: Path) -> bool:
    """Whether a built module loads, and its target makes a device."""
    guest.insmod(module)
    with null_blk(guest) as disk, Ioband(guest, "d", disk) as dev:
        return dev.info().state == "open"


def test_make_install_and_uninstall(guest: Guest, machine: Machine) -> None:
    says = machine.run(
        """
        units=/usr/local/lib/systemd/system rules=/usr/local/lib/udev/rules.d
        mkdir -p $units $rules
        touch $units/ioband-partitions@.service $rules/61-ioband.rules  # of former versions
        make -s install RELEASE=$RELEASE
        ls $units $rules
        cp -v $(modinfo -k $RELEASE -F filename dm-ioband) $OUT/
        modprobe -S $RELEASE --show-depends dm-ioband
        /usr/local/sbin/iobandctl help >$OUT/help
        test -s /usr/local/share/man/man8/iobandctl.8
        make -s uninstall RELEASE=$RELEASE
        ! modinfo -k $RELEASE dm-ioband
        find /usr/local /usr/lib/modules -name '*ioband*'
        """
    )
    staged = machine.run(
        """
        where="DESTDIR=$OUT/root PREFIX=/usr RELEASE=$RELEASE"
        make -s install $where >$OUT/log 2>&1
        cd $OUT/root
        find * -type f | sort
        echo outside: $(find /usr/local /usr/lib/modules -name '*ioband*')
        grep -h /sbin/iobandctl usr/lib/systemd/system/iobandctl-watch.service
        make -s -C $OUT/checkout uninstall $where
        echo left: $(find * -type f)
        mkdir -p lib/modules/$RELEASE/kernel  # as in the root of a system
        make -s -C $OUT/checkout install $where >$OUT/log 2>&1
        grep dm-ioband lib/modules/$RELEASE/modules.dep
        make -s -C $OUT/checkout uninstall $where >$OUT/log 2>&1
        echo listed: $(grep dm-ioband lib/modules/$RELEASE/modules.dep)
        """
    ).splitlines()
    pages = [line for line in staged if fnmatch(line, "usr/share/man/man8/iobandctl-*.8")]
    assert "usr/share/man/man8/iobandctl-wrap.8" in pages  # one for each verb
    assert [line for line in staged if line not in pages] == [
        f"lib/modules/{machine.release}/updates/dm-ioband.ko",
        *STAGED,
        "outside:",
        "ExecStart=/usr/sbin/iobandctl watch",
        "left:",
        "updates/dm-ioband.ko:",
        "listed:",
    ]
    assert f"/lib/modules/{machine.release}/updates/dm-ioband.ko' -> " in says
    assert "dm-mod.ko" in says
    assert "ioband-wrap@.service" in says
    for former in ("ioband-partitions@.service", "61-ioband.rules"):
        assert former not in says, "something of a former version is left"
    assert "Module dm-ioband not found" in says.splitlines()[-1], "something is left"
    assert "set-weight" in (machine.directory / "help").read_text()
    assert works(guest, machine.directory / "dm-ioband.ko")


@pytest.mark.long("as the packages, which build by DKMS too")
def test_dkms(guest: Guest, machine: Machine) -> None:
    says = machine.run(
        """
        version=$(sed -n 's/^PACKAGE_VERSION="\\(.*\\)"/\\1/p' dkms.conf)
        dkms add .
        dkms install dm-ioband/$version -k $RELEASE ||
            cat /var/lib/dkms/dm-ioband/$version/build/make.log
        cp -v $(modinfo -k $RELEASE -F filename dm-ioband) $OUT/
        dkms status
        dkms remove dm-ioband/$version --all
        ! modinfo -k $RELEASE dm-ioband
        """
    )
    assert f"/lib/modules/{machine.release}/updates/dkms/dm-ioband.ko' -> " in says
    assert f"{machine.release}, x86_64: installed" in says
    assert "Module dm-ioband not found" in says.splitlines()[-1], "something is left"
    assert works(guest, machine.directory / "dm-ioband.ko")

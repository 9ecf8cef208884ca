# SPDX-License-Identifier: GPL-2.0-only
"""The Debian packages: built, installed, upgraded, removed, purged.

dpkg, the packages' own scripts and DKMS do what they do on any machine, in a namespace,
with the kernel's headers and the real compiler.
"""

import re
import subprocess
from pathlib import Path

import pytest
from harness.apt import Archive
from harness.installed import run_installed
from harness.kernels import SUITES, get_kernel, own_kernel_name
from harness.packages import Packages, build_packages

NAMES = "dm-ioband-dkms iobandctl"
# What is left of the packages.
TRACES = "find /etc /run /usr /var/cache /var/lib -name '*ioband*'; ls -d /lib/modules/*/updates"


@pytest.fixture(scope="module")
def packages() -> Packages:
    """The packages of the tree."""
    return build_packages()


@pytest.fixture(scope="module")
def later() -> Packages:
    """The same with a higher version."""
    return build_packages(later=True)


def test_lintian_has_nothing_to_say(packages: Packages) -> None:
    checks = ["--display-info", "--pedantic", "--fail-on=error,warning,info,pedantic"]
    done = subprocess.run(
        ["lintian", "--allow-root", *checks, packages.changes],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.replace("running with root privileges is not recommended!", "").strip() == ""


def other_headers() -> tuple[str, list[Path]]:
    """Another kernel than that of the laboratory: its release, and packages of its headers."""
    archive = Archive(*SUITES[own_kernel_name()])
    wanted = [
        p for p in archive.resolve("linux-headers-cloud-amd64") if p.name.startswith("linux-")
    ]
    names = " ".join(package.name for package in wanted)
    release = re.search(r"linux-headers-(\d\S*-cloud-amd64)", names)[1]
    return release, archive.download(wanted)


def sections(text: str) -> dict[str, str]:
    """What was printed behind each line "== TITLE"."""
    parts = re.split(r"^== (.*)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_each_kernel_gets_its_module(packages: Packages, later: Packages) -> None:
    kernel = get_kernel(own_kernel_name())
    other, headers = other_headers()
    says = sections(
        run_installed(
            kernel,
            """
            # It is the kernel that runs, for DKMS, to which that makes a difference.
            as=/usr/sbin/uname
            printf '#!/bin/sh\\n[ "$*" = -r ] && echo $RELEASE || exec /bin/uname "$@"' >$as
            chmod +x $as
            echo "== installed"
            dpkg -i $DEBS
            dkms status
            modinfo -k $RELEASE -F signer dm-ioband
            iobandctl --version
            for shell in bash zsh fish; do iobandctl completion $shell; done >/dev/null
            echo "== with headers"
            dpkg -i --force-depends $HEADERS
            dkms status
            echo "== upgraded"
            dpkg -i $LATER
            dkms status
            modinfo -k $RELEASE -F version dm-ioband
            iobandctl --version
            echo "== removed"
            dpkg -r $NAMES
            dkms status
            """
            + f"""
            echo x >/etc/ioband.conf
            mkdir -p /etc/ioband.conf.d /run/ioband/left /run/iobandctl
            echo "== purged"
            dpkg -P $NAMES
            {TRACES} || true
            """,
            DEBS=" ".join(map(str, packages.debs)),
            LATER=" ".join(map(str, later.debs)),
            HEADERS=" ".join(map(str, headers)),
            NAMES=NAMES,
        )
    )
    here, there = (f"{release}, x86_64: installed" for release in (kernel.release, other))
    assert f"dm-ioband/{packages.version}, {here}" in says["installed"]
    assert "DKMS module signing key" in says["installed"]
    assert f"iobandctl {packages.version}\n" in says["installed"]
    for installed in (here, there):
        assert f"dm-ioband/{packages.version}, {installed}" in says["with headers"]
        assert f"dm-ioband/{later.version}, {installed}" in says["upgraded"]
    assert f"\n{later.version}\niobandctl {later.version}\n" in says["upgraded"]
    assert f"dm-ioband/{packages.version}," not in says["upgraded"].split("Setting up")[-1]
    assert "dm-ioband/" not in says["removed"]
    assert re.search("^/", says["purged"], re.M) is None, says["purged"]

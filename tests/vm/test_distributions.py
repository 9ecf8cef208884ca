# SPDX-License-Identifier: GPL-2.0-only
"""Packages for other distributions: RPM's are built and linted, Arch's PKGBUILD is read.

Debian has rpmbuild and rpmlint.  They are unpacked into a namespace, where no program that is
installed sees them.  Its rpm lacks the macros of systemd, which the test gives as Fedora has them.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from harness.installed import run_installed
from harness.kernels import get_kernel, own_kernel_name
from harness.lent import RPM, lent_tree
from harness.module import REPO
from harness.packages import NOT_CONTENT, versions

PACKAGING = REPO / "packaging"
MACROS = """
%_unitdir /usr/lib/systemd/system
%_presetdir /usr/lib/systemd/system-preset
%_udevrulesdir /usr/lib/udev/rules.d
%systemd_requires Requires(post): systemd
%systemd_post() systemctl --no-reload preset %{*} || :
%systemd_preun() systemctl --no-reload disable --now %{*} || :
%systemd_postun_with_restart() systemctl try-restart %{*} || :
"""
# $TREE: where rpm and rpmlint are unpacked.
BUILD = """
cp -an $TREE/usr/. /usr/ && cp -an $TREE/etc/. /etc/
cd $OUT/checkout
make -s rpm RPMBUILD_ARGS="--nodeps --load $OUT/macros" >$OUT/log 2>&1 ||
	{ tail -50 $OUT/log; exit 1; }
cp build/rpm/RPMS/*/*.rpm build/rpm/SRPMS/*.rpm $OUT
cd $OUT
for package in dm-ioband-dkms-*.rpm iobandctl-1*.rpm; do
	echo "== $package"
	rpm -qp --qf '[%{FILENAMES} %{FILEMODES:perms}\\n]' $package
	echo "== scripts of $package"
	rpm -qp --scripts $package
	mkdir -p root && rpm2cpio $package | (cd root && cpio -idm --quiet)
done
echo "== rpmlint"
rpmlint --config $OUT/packaging.toml dm-ioband*.rpm iobandctl-1*.rpm || echo failed
"""


@pytest.mark.long("rpmbuild compiles iobandctl once more")
def test_rpm_packages(tmp_path: Path) -> None:
    """All that is installed is in a package, with the paths of Fedora, and rpmlint is content."""
    shutil.copytree(REPO, tmp_path / "checkout", symlinks=True, ignore=NOT_CONTENT)
    shutil.copy(PACKAGING / "rpmlint.toml", tmp_path / "packaging.toml")
    (tmp_path / "macros").write_text(MACROS)
    kernel = get_kernel(own_kernel_name())
    said = run_installed(kernel, BUILD, OUT=tmp_path, TREE=lent_tree(RPM), HOME=tmp_path)
    parts = re.split(r"^== (.*)\n", said, flags=re.M)
    says = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert re.search(r"0 errors, 0 warnings", says["rpmlint"]), says["rpmlint"]

    files = "".join(text for name, text in says.items() if name.endswith(".rpm"))
    version = versions()["dkms.conf"]
    assert f"/usr/src/dm-ioband-{version}/drivers/md/dm-ioband/Kbuild -rw" in files
    assert f"/usr/src/dm-ioband-{version}/dkms.conf -rw" in files
    assert "/usr/sbin/iobandctl -rwxr-xr-x" in files
    assert "/usr/lib/dracut/modules.d/90ioband/module-setup.sh -rwxr-xr-x" in files
    scripts = "".join(text for name, text in says.items() if name.startswith("scripts"))
    assert "systemctl --no-reload preset iobandctl-watch.service" in scripts
    assert f"dkms add -m dm-ioband -v {version}" in scripts

    rules = "".join(each.read_text() for each in (tmp_path / "root").rglob("*.rules"))
    assert "/usr/bin/systemctl --no-block start ioband-wrap@" in rules
    assert "/usr/sbin/kpartx" in rules and '"/sbin/' not in rules and "/bin/systemctl" in rules
    preset = tmp_path / "root/usr/lib/systemd/system-preset/90-iobandctl.preset"
    assert "disable iobandctl-watch.service" in preset.read_text()
    done = subprocess.run(
        [tmp_path / "root/usr/sbin/iobandctl", "--version"], capture_output=True, text=True
    )
    assert done.stdout == f"iobandctl {version}\n"
    program = ["readelf", "-dW", tmp_path / "root/usr/sbin/iobandctl"]
    assert "BIND_NOW" in subprocess.run(program, capture_output=True, text=True).stdout


# $1: the PKGBUILD, $2: where packages are put together.
PACKAGE = """
set -eu
cd "$(dirname "$1")"
startdir=$PWD srcdir=$2/src CFLAGS=-O1 LDFLAGS=
mkdir -p "$srcdir"
. "$1"
make() { echo "make $*"; command make -n "$@" >/dev/null; }
build
for name in "${pkgname[@]}"; do
	pkgdir=$2/$name
	mkdir -p "$pkgdir"
	package_"$name"
done
echo "$pkgver ${pkgname[*]} ${license[*]}"
"""


def test_pkgbuild_of_arch(tmp_path: Path) -> None:
    """bash runs it as makepkg does, but make runs without effect."""
    subprocess.run(["shellcheck", PACKAGING / "PKGBUILD"], check=True)
    done = subprocess.run(
        ["bash", "-c", PACKAGE, "-", PACKAGING / "PKGBUILD", tmp_path],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    version = versions()["dkms.conf"]
    assert f"{version} dm-ioband-dkms iobandctl GPL-2.0-only\n" in done.stdout
    made = {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*") if each.is_file()}
    assert f"dm-ioband-dkms/usr/src/dm-ioband-{version}/dkms.conf" in made
    assert f"dm-ioband-dkms/usr/src/dm-ioband-{version}/drivers/md/dm-ioband/Kbuild" in made
    assert "iobandctl/usr/lib/systemd/system-preset/90-iobandctl.preset" in made
    assert "iobandctl/usr/lib/dracut/modules.d/90ioband/module-setup.sh" in made
    assert "KPARTX=/usr/bin/kpartx" in done.stdout and "MDADM=/usr/bin/mdadm" in done.stdout

# SPDX-License-Identifier: GPL-2.0-only
"""Packages for other distributions: RPM's and Arch's, built, installed and removed.

Debian has rpm, rpmlint, makepkg and pacman.  They are unpacked into a namespace, where no program
that is installed sees them.  Its rpm lacks the macros of systemd, which the test gives as Fedora
has them.
"""

import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from harness.installed import run_installed
from harness.kernels import get_kernel, own_kernel_name
from harness.lent import ARCH, RPM, lent_tree
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
done
# Debian's rpm asks for the option, as it would not see packages of Debian.
set -- --force-debian --nodeps
export SYSTEMD_OFFLINE=1
echo "== installed"
rpm -i "$@" dm-ioband-dkms-*.rpm iobandctl-1*.rpm
rpm -V --nodeps dm-ioband-dkms iobandctl && dkms status
systemctl is-enabled iobandctl-watch.service iobandctl-metrics.timer || :
names=$(rpm -ql dm-ioband-dkms iobandctl)
mkdir root && printf '%s\\n' $names | cpio -pdm --quiet root
echo "== removed"
systemctl -q enable iobandctl-watch.service
rpm -e "$@" dm-ioband-dkms iobandctl >$OUT/log 2>&1 || { cat $OUT/log; exit 1; }
dkms status
for name in $names; do [ -d $name ] || ls $name 2>/dev/null || :; done
find /etc/systemd /usr/lib/systemd -name '*ioband*'
echo "== kernels"
mkdir -p /usr/lib/modules/{9.1-headers,9.2-headers}/build/include /usr/lib/modules/9.3-bare
printf '#!/bin/sh\\necho "$@"\\n' >$OUT/dkms && chmod 755 $OUT/dkms
PATH=$OUT:$PATH sh -c "$(rpm -qp --qf '%{POSTIN}' dm-ioband-dkms-*.rpm)"
echo "== rpmlint"
rpmlint --config $OUT/packaging.toml dm-ioband*.rpm iobandctl-1*.rpm || echo failed
"""


def check_root(root: Path, sbin: str, version: str) -> None:
    """The paths in the rules, the preset of systemd and the program, as they are installed."""
    rules = "".join(each.read_text() for each in root.rglob("*.rules"))
    assert "/usr/bin/systemctl --no-block start ioband-wrap@" in rules
    assert {f"{sbin}/{name}" for name in ("iobandctl", "kpartx", "mdadm")} <= set(
        re.findall(r'[ "](/[^" ]*)', rules)
    )
    assert '"/sbin/' not in rules and '"/bin/systemctl' not in rules
    preset = root / "usr/lib/systemd/system-preset/90-iobandctl.preset"
    assert "disable iobandctl-watch.service" in preset.read_text()
    program = root / sbin.removeprefix("/") / "iobandctl"
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    assert done.stdout == f"iobandctl {version}\n"
    dynamic = subprocess.run(["readelf", "-dW", program], capture_output=True, text=True)
    assert "BIND_NOW" in dynamic.stdout


@pytest.mark.long("rpmbuild compiles iobandctl once more")
def test_rpm_packages(tmp_path: Path) -> None:
    """All files have the paths of Fedora, scripts build the module, and rpmlint is content."""
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
    assert f"add -m dm-ioband -v {version} -q --rpm_safe_upgrade\n" in says["kernels"]
    built = re.findall(r"^install -m dm-ioband .* -k (9\S+)", says["kernels"], re.M)
    assert built == ["9.1-headers", "9.2-headers"], says["kernels"]
    module = f"dm-ioband/{version}, {kernel.release}, x86_64: installed"
    assert says["installed"].endswith(f"{module}\ndisabled\ndisabled\n"), says["installed"]
    assert says["removed"] == ""

    check_root(tmp_path / "root", "/usr/sbin", version)


# What builds leave where the sources are.
LEFTOVERS = ["drivers/md/dm-ioband/" + name for name in (
    "main.o", ".main.o.cmd", "dm-ioband.ko", "dm-ioband.mod", "dm-ioband.mod.c", "modules.order",
    "Module.symvers", "sched/core.o",
)]  # fmt: skip
LEFTOVERS += ["tools/iobandctl/" + name for name in (
    "main.o", "main.d", "watch/serve.o", "watch/serve.d", "iobandctl", "completion.bash",
    "iobandctl-top.8",
)]  # fmt: skip
LEFTOVERS += ["packaging/src/iobandctl/main.o", "packaging/pkg/x", "build/x", "debian/files"]
LEFTOVERS += ["packaging/iobandctl-1.0-1-x86_64.pkg.tar.zst", "debian/dm-ioband-doc/x"]


def littered_checkout(path: Path) -> list[str]:
    """The files of a checkout that is copied, before leftovers of builds were added to it."""
    shutil.copytree(REPO, path, symlinks=True, ignore=NOT_CONTENT)
    ignored = subprocess.run(
        ["git", "-C", REPO, "ls-files", "--others"], capture_output=True, text=True
    ).stdout.splitlines()
    for name in ignored:
        (path / name).unlink(missing_ok=True)
    files = [str(each.relative_to(path)) for each in path.rglob("*") if not each.is_dir()]
    for name in LEFTOVERS:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("left over\n")
    return files


def test_sources_are_all_files_but_leftovers(tmp_path: Path) -> None:
    """The archive of "make rpm" and "make deb"."""
    checkout, fake = tmp_path / "checkout", tmp_path / "bin"
    files = littered_checkout(checkout)
    fake.mkdir()
    (fake / "rpmbuild").symlink_to("/bin/true")
    environment = {"PATH": f"{fake}:/usr/bin:/bin"}
    subprocess.run(["make", "-s", "-C", checkout, "rpm"], check=True, env=environment)
    (archive,) = (checkout / "build/rpm/SOURCES").iterdir()
    with tarfile.open(archive) as sources:
        packed = [member.name for member in sources if not member.isdir()]
    top = archive.name.removesuffix(".tar.gz")
    assert sorted(packed) == sorted(f"{top}/{name}" for name in files)


# makepkg refuses to run as root; a user cannot enter the directories of a test.
MAKEPKG = """
cp -an $TREE/usr/. /usr/ && cp -an $TREE/etc/. /etc/
cp -a $OUT/checkout /run/checkout && chown -R nobody /run/checkout
cd /run/checkout/packaging
setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME=$PWD PKGEXT=.pkg.tar \\
	makepkg --nodeps --cleanbuild >$OUT/log 2>&1 || { tail -50 $OUT/log; exit 1; }
mkdir -p $OUT/root/var/lib/pacman
on_root() { pacman --root $OUT/root --cachedir /run/cache "$@"; }
on_root -Udd --noconfirm ./*.pkg.tar >$OUT/log 2>&1 || { cat $OUT/log; exit 1; }
on_root -Qkk
on_root -Qi
"""


@pytest.mark.long("makepkg compiles iobandctl once more")
def test_pkgbuild_of_arch(tmp_path: Path) -> None:
    """Built by a user in a checkout with leftovers, and installed by pacman."""
    files = littered_checkout(tmp_path / "checkout")
    subprocess.run(["shellcheck", PACKAGING / "PKGBUILD"], check=True)
    kernel = get_kernel(own_kernel_name())
    said = run_installed(kernel, MAKEPKG, OUT=tmp_path, TREE=lent_tree(ARCH))
    version = versions()["dkms.conf"]
    assert re.findall(r"^(\S+): \d+ total files, 0 altered files", said, re.M) == [
        "dm-ioband-dkms",
        "iobandctl",
    ], said
    # Sources are the same everywhere, a compiled program is not.
    keys = ("Name", "Version", "Architecture", "Licenses")
    shown = "\n.*?".join(rf"{key} +: (\S+)" for key in keys)
    assert re.findall(shown, said, re.S) == [
        ("dm-ioband-dkms", f"{version}-1", "any", "GPL-2.0-only"),
        ("iobandctl", f"{version}-1", "x86_64", "GPL-2.0-only"),
    ]

    root = tmp_path / "root"
    made = {str(each.relative_to(root)): each.stat() for each in root.rglob("*") if each.is_file()}
    sources = f"usr/src/dm-ioband-{version}/"
    assert {name for name in made if name.startswith(sources)} == {
        f"{sources}{name}" for name in files if name.startswith(("drivers/", "dkms.conf"))
    }
    assert {info.st_uid for info in made.values()} == {0}
    assert made["usr/lib/dracut/modules.d/90ioband/module-setup.sh"].st_mode & 0o777 == 0o755
    assert made["usr/share/man/man8/iobandctl.8.gz"].st_mode & 0o777 == 0o644
    check_root(root, "/usr/bin", version)

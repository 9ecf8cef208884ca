# SPDX-License-Identifier: GPL-2.0-only
"""The Debian packages: built, installed, upgraded while devices are in use, removed, purged.

dpkg, the packages' own scripts and DKMS run as on any machine.  On the host they run in a
namespace, with the kernel's headers and the real compiler.  In a guest compiling takes
minutes: there "make" gives DKMS the output of the kernel's compiler for the same sources on
the host, and fails if the sources differ.  Most of these tests begin with packages that
were installed in a namespace.
"""

import contextlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from harness.apt import Archive
from harness.devices import null_blk
from harness.document import dead_links
from harness.firmware import enrol_key
from harness.guest import SHARE, Guest
from harness.installed import run_installed
from harness.kernels import SUITES, get_kernel, own_kernel_name
from harness.module import REPO, build_module
from harness.packages import Packages, build_packages
from harness.waiting import wait_until

pytestmark = pytest.mark.long("packages are built, installed and upgraded with their module")

DPKG_S = 1800  # compiling the module takes most of it, minutes on an idle host
NAMES = "dm-ioband-dkms dm-ioband-doc iobandctl"
# Remains of the packages; searching the whole of /usr takes a guest too long.
TRACES = "find /etc /run /usr /var/cache /var/lib -name '*ioband*'; ls -d /lib/modules/*/updates"
LEFT = """
for name in $(cat /run/files); do [ -d $name ] || ls -d $name; done 2>/dev/null
find /etc /run /usr/src /lib/udev /lib/systemd /lib/modules/*/updates /var/lib/dkms \
	/var/lib/dpkg/info /var/lib/systemd -xdev -name '*ioband*' 2>/dev/null
true
"""
MAKE = """#!/bin/sh
# For DKMS, in place of make: what was built elsewhere from the sources that it has.
for word; do case $word in M=*) dir=${word#M=} ;; clean) exit 0 ;; esac; done
[ "$dir" ] || exit 0
for built in @SHARE@/built/*; do
	if diff -rq -x '*.ko' "$built" "$dir"; then exec cp "$built/dm-ioband.ko" "$dir"; fi
done
exit 1
"""
# Few modules for depmod to read, for the same reason.
FEW_MODULES = """
set -e
cd /lib/modules/$(uname -r)
mkdir -p /run/few
modprobe -D -a ext4 null_blk scsi_debug dm-mod | sed -n "s,^insmod $PWD/,,p" | sort -u |
	xargs cp -t /run/few --parents
cp -a modules.order modules.builtin* build /run/few
mount --bind /run/few $PWD
depmod
"""
# $OUT/installed.tar has all changes of the installation, except depmod's: the guest has its own.
INSTALL = """
PATH=$OUT:$PATH dpkg -i $DEBS
find /mnt/upper -type c -delete
tar -C /mnt/upper --exclude='usr/lib/modules/*/modules.*' --exclude=var/log -cf $OUT/installed.tar .
"""
# Each pass writes and reads back; at least one is under way at any time.
VERIFY = """
until [ -e /run/enough ]; do
	fio --name=verify --filename=/srv/verify --size=4m --bs=16k --rw=randwrite --direct=1 \
		--ioengine=psync --randrepeat=0 --verify=crc32c --minimal >/dev/null || exit
	echo pass
done
"""


@pytest.fixture(scope="module")
def packages() -> Packages:
    """The packages of the tree."""
    return build_packages()


@pytest.fixture(scope="module")
def later() -> Packages:
    """The packages with a higher version."""
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


def test_the_program_is_bound_at_its_start(packages: Packages, tmp_path: Path) -> None:
    """Full RELRO: the addresses of functions in libraries are read-only."""
    subprocess.run(["dpkg-deb", "-x", packages.deb("iobandctl"), tmp_path], check=True)
    program = tmp_path / "usr/sbin/iobandctl"
    read = ["readelf", "--dynamic", "--segments", "--wide", program]
    said = subprocess.run(read, check=True, capture_output=True, text=True).stdout
    assert "GNU_RELRO" in said
    assert re.search(r"FLAGS_1.*\bNOW\b", said) and re.search(r"FLAGS_1.*\bPIE\b", said)


@pytest.mark.parametrize("name", NAMES.split())
def test_pages_are_installed_with_what_they_link_to(
    packages: Packages, tmp_path: Path, name: str
) -> None:
    """Whichever of the packages are not installed."""
    subprocess.run(["dpkg-deb", "-x", packages.deb(name), tmp_path], check=True)
    pages = [page for kind in ("md", "rst") for page in tmp_path.rglob(f"*.{kind}")]
    assert pages
    dead = {str(page.relative_to(tmp_path)): dead_links(page) for page in pages}
    assert {page: links for page, links in dead.items() if links} == {}


def test_all_that_is_documented_is_in_one_package(packages: Packages, tmp_path: Path) -> None:
    subprocess.run(["dpkg-deb", "-x", packages.deb("dm-ioband-doc"), tmp_path], check=True)
    installed = tmp_path / "usr/share/doc/dm-ioband-doc"
    for page in ("README.md", "CONTRIBUTING.md", "NEWS", "SECURITY.md"):
        assert (installed / page).read_bytes() == (REPO / page).read_bytes()
    pages = REPO / "Documentation"
    written = [path for path in pages.rglob("*") if path.is_file()]
    assert len(written) > 50
    for path in written:
        there = installed / path.relative_to(REPO)
        assert there.read_bytes() == path.read_bytes(), there


DMSETUP = """#!/bin/sh
case "$*" in
"ls --target ioband") printf 'io-db\\t(254:1)\\nvg0-web\\t(254:2)\\nio-x\\t(254:4)\\n' ;;
*vg0-web) echo '1 dependencies\\t: (vg0-web-ioband)' ;;
*) echo '1 dependencies\\t: (sdb)' ;;
esac
"""


def test_removal_tells_wrapped_devices_from_those_with_ioband_in_them(tmp_path: Path) -> None:
    """A volume with ioband in it has data: no message may advise to remove it."""
    for name, text in (("dmsetup", DMSETUP), ("ischroot", "#!/bin/sh\nexit 1\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        ["sh", REPO / "debian/iobandctl.prerm", "remove"],
        env={"PATH": f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin"},
        check=True,
        capture_output=True,
        text=True,
    )
    over, inside = done.stderr.splitlines()
    assert "stay until a reboot or 'dmsetup remove': io-db io-x. Then" in over
    assert "stays in them until a reboot: vg0-web. Do not remove them: only 'iobandctl ex" in inside


def other_headers() -> tuple[str, list[Path]]:
    """A kernel other than the laboratory's: its release, and packages of its headers."""
    archive = Archive(*SUITES[own_kernel_name()])
    wanted = [
        p for p in archive.resolve("linux-headers-cloud-amd64") if p.name.startswith("linux-")
    ]
    names = " ".join(package.name for package in wanted)
    release = re.search(r"linux-headers-(\d\S*-cloud-amd64)", names)[1]
    return release, archive.download(wanted)


def sections(text: str) -> dict[str, str]:
    """The output behind each line "== TITLE"."""
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
            mkdir -p /etc/ioband.conf.d /run/iobandctl
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


class Machine:
    """A guest with the kernel's headers, and a quick DKMS."""

    def __init__(self, guest: Guest):
        self.guest = guest

    def build(self, *versions: Packages) -> None:
        """Put packages, and prebuilt modules for DKMS, into the shared directory."""
        share = self.guest.share
        for built in versions:
            (module,) = build_module(self.guest.kernel, built.driver)
            shutil.copytree(built.tree / "drivers/md/dm-ioband", share / "built" / built.version)
            shutil.copy(module, share / "built" / built.version)
            self.bring(built)
        for path, where in ((share, share), (share / "root/usr/local/sbin", SHARE)):
            path.mkdir(parents=True, exist_ok=True)
            (path / "make").write_text(MAKE.replace("@SHARE@", str(where)))
            (path / "make").chmod(0o755)

    def bring(self, packages: Packages) -> None:
        """Put packages into the shared directory."""
        for deb in packages.debs:
            shutil.copy(deb, self.guest.share)

    def put_headers(self) -> None:
        """Put the kernel's headers in place, and allow services to start."""
        kernel = self.guest.kernel
        # Some hosts forbid services; man-db is slow with each package.
        self.guest.run("rm -f /usr/sbin/policy-rc.d /var/lib/man-db/auto-update")
        self.guest.run(f"ln -s {kernel.root}/usr/src/* /usr/src")
        self.guest.run(f"ln -s {kernel.root}/usr/lib/linux-kbuild* /usr/lib")
        self.guest.run(FEW_MODULES, timeout=120)

    def prepare(self, packages: Packages) -> None:
        """Install packages in a namespace, and copy the changes to this guest."""
        run_installed(
            self.guest.kernel,
            INSTALL,
            OUT=self.guest.share,
            DEBS=" ".join(map(str, packages.debs)),
        )
        self.put_headers()
        self.take_over()

    def take_over(self) -> None:
        """Unpack the changes of an installation in a namespace."""
        self.guest.run(f"tar -C / --keep-directory-symlink -xf {SHARE}/installed.tar")
        self.guest.run("systemctl daemon-reload && depmod", timeout=120)

    def dpkg(self, *args: str) -> str:
        """The output of dpkg and the packages' scripts."""
        return self.guest.run(
            f"DEBIAN_FRONTEND=noninteractive dpkg {' '.join(args)} 2>&1", timeout=DPKG_S
        ).out

    def install(self, packages: Packages) -> str:
        """Install packages for which DKMS has prebuilt modules."""
        return self.dpkg("-i", *(f"{SHARE}/{deb.name}" for deb in packages.debs))

    def postinst(self) -> str:
        """The final messages of the module's package, without another build."""
        self.guest.write("/etc/dkms/no-autoinstall", "")
        script = "/var/lib/dpkg/info/dm-ioband-dkms.postinst"
        env = {"DEBIAN_FRONTEND": "noninteractive"}
        return self.guest.run([script, "configure", self.installed()], env=env).err

    def loaded(self) -> str:
        """The version of the loaded module."""
        return self.guest.read("/sys/module/dm_ioband/version").strip()

    def installed(self) -> str:
        """The version of the installed module."""
        return self.guest.run(["modinfo", "-F", "version", "dm-ioband"]).out.strip()

    def watch_pid(self) -> str:
        """The process of the watch service, 0 if it does not run."""
        show = ["systemctl", "show", "-P", "MainPID", "iobandctl-watch"]
        return self.guest.run(show).out.strip()


def make_fresh(guest: Guest) -> None:
    """Boot anew if earlier tests left anything."""
    if guest.exists("/run/few") or guest.run(LEFT, timeout=300).out:
        guest.reboot()


@contextlib.contextmanager
def verifying(guest: Guest) -> Iterator[None]:
    """Data written to /srv are read back and compared, again and again."""
    job = guest.start(VERIFY)
    wait_until(guest, lambda: guest.exists("/srv/verify"), "fio does not begin")
    yield
    assert job.poll() is None, "fio has ended"
    guest.write("/run/enough", "")
    assert job.wait(timeout=300).out.count("pass") > 1
    guest.run(["rm", "/run/enough"])


@pytest.fixture
def bare(guest: Guest) -> Iterator[Machine]:
    """A machine without the packages, which boots anew at the end in any case."""
    make_fresh(guest)
    shared = set(guest.share.iterdir())
    yield Machine(guest)
    for new in set(guest.share.iterdir()) - shared:
        shutil.rmtree(new) if new.is_dir() else new.unlink()
    if guest.alive:
        guest.reboot(cut=True)  # remains of a failed test may block a shutdown


@pytest.fixture
def machine(bare: Machine, packages: Packages, later: Packages) -> Machine:
    """A machine with the packages installed."""
    bare.build(packages, later)
    bare.prepare(packages)
    bare.guest.run(f"cp -a {SHARE}/root/. /")
    return bare


@pytest.mark.guest(systemd=True)
def test_installed_used_and_purged_in_a_guest(bare: Machine, packages: Packages) -> None:
    machine, guest = bare, bare.guest
    machine.build(packages)
    machine.put_headers()
    guest.run(f"cp -a {SHARE}/root/. /")
    said = machine.install(packages)
    built = f"dm-ioband/{packages.version}, {guest.kernel.release}, x86_64: installed"
    assert built in guest.run(["dkms", "status"]).out, said
    assert guest.run("modinfo -F signer dm-ioband").out == "DKMS module signing key\n"
    with null_blk(guest, memory_backed=1, size_mib=16) as disk:
        wrapped = guest.run(["iobandctl", "wrap", disk]).out.split(":")[0]
        assert machine.loaded() == packages.version
        source = guest.run("modinfo -F srcversion dm-ioband").out
        assert guest.read("/sys/module/dm_ioband/srcversion") == source
        guest.run(f"mkfs.ext4 -q {wrapped} && mount {wrapped} /srv && echo kept >/srv/file")
        guest.run(["umount", "/srv"])
        guest.run(["iobandctl", "unwrap", disk])
        guest.run(f"dpkg -L {NAMES} >/run/files")
        machine.dpkg("-P", *NAMES.split())
        assert not guest.exists("/sys/module/dm_ioband")
        assert guest.run(f"mount {disk} /srv && cat /srv/file && umount /srv").out == "kept\n"
    assert guest.run(LEFT, timeout=300).out == ""


@pytest.mark.guest(systemd=True)
def test_upgrade_and_purge_while_a_device_is_in_use(
    machine: Machine, packages: Packages, later: Packages
) -> None:
    guest = machine.guest
    old, new = f"version {packages.version}", f"version {later.version}"
    enabled = guest.run(["systemctl", "is-enabled", "iobandctl-watch"], check=False)
    assert enabled.out == "disabled\n"
    with null_blk(guest, memory_backed=1, size_mib=64) as disk:
        guest.run(["iobandctl", "create", "d0", disk])
        guest.run("mkfs.ext4 -q /dev/mapper/d0 && mount /dev/mapper/d0 /srv")
        guest.run(["systemctl", "start", "iobandctl-watch"])
        watch = machine.watch_pid()
        with verifying(guest):
            says = machine.install(later)
        assert f"dm-ioband: {old} is loaded, and goes on, since these devices use it: d0." in says
        assert f"{new} is installed. It is used after a reboot; or take the devices out" in says
        assert (machine.loaded(), machine.installed()) == (packages.version, later.version)
        assert machine.watch_pid() not in ("0", watch)

        guest.run("umount /srv && e2fsck -fn /dev/mapper/d0 && iobandctl remove d0")
        says = machine.postinst()
        assert f"dm-ioband: {old} was loaded, and not in use: it is unloaded" in says
        assert not guest.exists("/sys/module/dm_ioband")
        guest.run(["iobandctl", "create", "d0", disk])
        assert machine.loaded() == later.version
        assert "dm-ioband: " not in machine.postinst()
        guest.write("/sys/module/module/parameters/sig_enforce", "1")
        says = machine.postinst()
        assert "this kernel loads only modules that are signed with a key it trusts" in says
        assert "mokutil --import /var/lib/dkms/mok.pub" in says

        guest.run("mount /dev/mapper/d0 /srv")
        with verifying(guest):
            guest.run(f"dpkg -L {NAMES} >/run/files")
            says = machine.dpkg("-P", *NAMES.split())
        assert "dm-ioband: these devices are in use, and stay, and so does the module" in says
        assert "iobandctl: these ioband devices are in use, and stay until a reboot" in says
        guest.run(
            "umount /srv && e2fsck -fn /dev/mapper/d0 && dmsetup remove d0 && rmmod dm-ioband"
        )
    assert guest.run(LEFT, timeout=300).out == ""


def refused(guest: Guest, module: str, reason: str) -> None:
    """A module is not loaded, and the kernel's log has the reason."""
    assert "Key was rejected by service" in guest.run(["insmod", module], check=False).err
    assert reason in guest.run("dmesg | tail -n 5").out


@pytest.mark.guest(systemd=True, secure_boot=True)
def test_secure_boot_takes_the_module_once_its_key_is_enrolled(
    bare: Machine, packages: Packages
) -> None:
    """The documented procedure, on a machine with signatures checked by loaders and kernel."""
    machine, guest = bare, bare.guest
    key = "/var/lib/dkms/mok.pub"
    machine.bring(packages)
    machine.prepare(packages)
    assert guest.run(["mokutil", "--sb-state"]).out == "SecureBoot enabled\n"
    assert "[integrity]" in guest.read("/sys/kernel/security/lockdown")
    says = machine.postinst()
    assert "this kernel loads only modules that are signed with a key it trusts" in says
    assert f"mokutil --import {key}" in says
    guest.run("cp $(modinfo -n dm-ioband) /run/signed.ko")
    guest.run("strip -g -o /run/unsigned.ko /run/signed.ko")
    refused(guest, "/run/signed.ko", "Loading of module with unavailable key is rejected")
    refused(guest, "/run/unsigned.ko", "Loading of unsigned module is rejected")
    guest.expect_dmesg("error adding target to table")
    with null_blk(guest, memory_backed=1, size_mib=16) as disk:
        done = guest.run(["iobandctl", "wrap", disk], check=False)
        assert "'modprobe dm-ioband' says why" in done.err

    guest.run(["mokutil", "--import", key], input="once\nonce\n")
    guest.reboot(dialogue=partial(enrol_key, password="once"))
    machine.put_headers()
    machine.take_over()
    assert "is already enrolled" in guest.run(["mokutil", "--test-key", key], check=False).out
    assert "mokutil" not in machine.postinst()
    guest.run("strip -g -o /run/unsigned.ko $(modinfo -n dm-ioband)")
    refused(guest, "/run/unsigned.ko", "Loading of unsigned module is rejected")
    with null_blk(guest, memory_backed=1, size_mib=16) as disk:
        guest.run(["iobandctl", "wrap", disk])
        assert machine.loaded() == packages.version
        guest.run(["iobandctl", "unwrap", disk])

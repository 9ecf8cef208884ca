# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl watch: weights follow the configuration, cgroup files and systemd."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM

import pytest
from harness.cgroup import Cgroup
from harness.devices import DmDevice, VolumeGroup, linear, null_blk
from harness.guest import Guest, Job
from harness.tool import EVIL, EVIL_SHOWN, install_watch, on_terminal
from harness.tool import WATCH_UNIT as UNIT
from harness.waiting import wait_until
from test_silent import HUNG, hung
from test_stacks import luks

CONF = "/etc/ioband.conf"
DB = ["systemd-run", "-q", "--unit=db.service", "-p", "IOWeight=250", "sleep", "infinity"]
# $1: a group, $2: its weight; prints the milliseconds until the group has the weight.
AWAIT = """
start=$(date +%s%3N)
until dmsetup message d 0 groups | grep -q "weight=$2 set=1 path=$1$"; do
	[ $(($(date +%s%3N) - start)) -lt 20000 ] || exit 1
done
echo $(($(date +%s%3N) - start))
"""


@dataclass
class Machine:
    """A guest with ioband device "d" of pool "p" over "one", and "two" for another device."""

    guest: Guest
    program: str
    disk: str

    def ctl(self, *args: str) -> str:
        """Run iobandctl; returns its output."""
        return self.guest.run([self.program, *args]).out

    def weights(self, device: str | None = None) -> dict[str, int]:
        """The weights that cgroups were given, in the tree of the pool or of a device."""
        found = re.findall(
            r"^pool=p (?:device=(\S+) )?group=cgroup:(\S+) weight=(\d+)(?: max=\S+)?(?: min=\S+)?$",
            self.ctl("groups", "--weights"),
            re.MULTILINE,
        )
        return {path: int(weight) for owner, path, weight in found if owner == (device or "")}

    def said(self) -> str:
        """The messages of watch as a service."""
        return self.guest.run(["journalctl", "-b", "-u", UNIT]).out

    def follows(self, weights: dict[str, int | None], device: str | None = None) -> None:
        """Wait until these weights are set (or, with None, not set)."""

        def fits() -> bool:
            now = self.weights(device)
            return all(now.get(path) == weight for path, weight in weights.items())

        wait_until(self.guest, fits, f"not {weights}")

    def takes_ms(self, weight: int, path: str = "/system.slice/db.service") -> int:
        """Wait until a group has a weight; returns the milliseconds."""
        return int(self.guest.run(["bash", "-c", AWAIT, "-", path, str(weight)]).out)

    def limit_ms(self, weight: int, path: str = "/system.slice/db.service") -> int:
        """A second, and more on a machine where reading the weights takes a part of it."""
        return 1000 + 8 * self.takes_ms(weight, path)

    def ask(self, **properties: object) -> None:
        """Ask systemd for properties of db.service."""
        words = [f"{key}={value}" for key, value in properties.items()]
        self.guest.run(["systemctl", "set-property", "--runtime", "db.service", *words])

    def bounds(self, path: str, bounds: list[str]) -> None:
        """Wait until a cgroup has these maxima and minima, in all trees."""
        line = re.compile(rf"group=cgroup:{path} .*?(m[ai][xn]=.*)$", re.MULTILINE)
        wait_until(
            self.guest,
            lambda: line.findall(self.ctl("groups", "--weights")) == bounds,
            f"not {bounds}",
        )

    def create(self, name: str, volume: str, *options: str) -> None:
        """Make an ioband device in pool p."""
        self.ctl("create", "--pool", "p", *options, name, volume)


@pytest.fixture
def machine(ioband: Guest, iobandctl: Path) -> Iterator[Machine]:
    """Mapped devices one, below ioband device d, and two."""
    with (
        null_blk(ioband, size_mib=16, memory_backed=1) as disk,
        linear(ioband, "one", disk),
        DmDevice(ioband, "two", "0 2048 zero"),
    ):
        machine = Machine(ioband, str(iobandctl), disk)
        machine.create("d", "one")
        yield machine
        ioband.run(f"dmsetup remove --retry d; dmsetup remove --retry e; rm -f {CONF}", check=False)


def start(machine: Machine, *options: str) -> Job:
    """Start watch in the foreground; its output says when it is ready."""
    return machine.guest.start([machine.program, "watch", *options])


def test_files_and_configuration(machine: Machine) -> None:
    """Cgroups and devices that exist, appear, change and disappear."""
    guest = machine.guest
    guest.write(
        CONF,
        "[group /a/fixed]\nweight = 700\n"
        "[group /a/b?]\nweight = 70\nmaximum = wbps=1KiB\nminimum = riops=3\n",
    )
    bounds = ["max=max,1024,max,max min=0,0,3,0"] * 2
    with Cgroup(guest, "a") as a, Cgroup(guest, "a/old") as old:
        old.set("io.weight", "200")
        machine.ctl("set-weight", "a", "9")
        job = start(machine)
        machine.follows({"/a/old": 200, "/a": None})
        old.set("io.weight", "250")
        with (
            Cgroup(guest, "a/fixed") as fixed,
            Cgroup(guest, "a/bx"),
            Cgroup(guest, "a/new") as new,
        ):
            fixed.set("io.weight", "33")
            new.set("io.weight", "44")
            expected = {"/a/old": 250, "/a/fixed": 700, "/a/bx": 70, "/a/new": 44}
            machine.follows(expected)
            machine.create("e", "two", "--mode", "device+cgroup")
            machine.follows(expected, "e")
            machine.bounds("/a/bx", bounds)
            # Without the controller the groups and files are gone for a moment.  watch reads
            # before it writes, and may still write to a group without the controller.
            guest.expect_dmesg("the io controller is not enabled for it")
            a.set("cgroup.subtree_control", "-io")
            machine.follows(dict.fromkeys(expected))
            a.set("cgroup.subtree_control", "+io")
            machine.follows({"/a/fixed": 700, "/a/bx": 70, "/a/new": None})
            machine.bounds("/a/bx", bounds)
            new.set("io.weight", "45")
            machine.follows({"/a/new": 45})
            new.set("io.weight", "100")
            machine.follows({"/a/new": None})
            job.kill(SIGTERM)
            job.wait()
            fixed.set("io.weight", "34")
            old.set("io.weight", "300")
            guest.write(CONF, "[group /a/fixed]\nweight = 701\n")
            job = start(machine)
            machine.follows({"/a/fixed": 701, "/a/bx": None, "/a/old": 300})
            guest.write(CONF, "nonsense")
            guest.run(["kill", "-HUP", str(job.pid)])
            old.set("io.weight", "301")
            machine.follows({"/a/fixed": 701, "/a/old": 301})
        job.kill(SIGTERM)
        job.wait()


def test_a_pool_that_is_meant_by_a_disk_that_comes_later(machine: Machine) -> None:
    guest, link = machine.guest, "/run/later"
    guest.write(
        CONF,
        f"[group /a]\nweight = 70\npool = {link}\n[group 2]\ngroup = /a\npool = p\nweight = 50\n",
    )
    with Cgroup(guest, "a"):
        job = start(machine)
        machine.follows({"/a": 50})
        guest.run(["ln", "-s", "/dev/mapper/two", link])
        machine.ctl("create", "e", "two")
        set_there = "pool=two group=cgroup:/a weight=70\n"
        wait_until(guest, lambda: set_there in machine.ctl("groups", "--weights"), "not set")
        assert machine.weights() == {"/a": 50}
        job.kill(SIGTERM)
        job.wait()
        guest.run(["rm", link])


def test_presets(machine: Machine) -> None:
    """Presets are set on later devices too; presets of others are kept."""
    guest = machine.guest
    guest.write(CONF, "[group /a/later]\nweight = 70\nmaximum = wbps=1KiB\n")
    later = " weight=70 path=/a/later max=max,1024,max,max"

    def presets() -> list[str]:
        lines = guest.run(["dmsetup", "message", "d", "0", "presets"]).out.splitlines()
        return sorted(re.sub(r"^\d+ \S+", "", line) for line in lines if " path=" in line)

    def become(*expected: str) -> None:
        wait_until(guest, lambda: presets() == sorted(expected), f"not {expected}")

    guest.run("dmsetup message d 0 preset weight cgroup:/others 9")
    others = " weight=9 path=/others"
    job = start(machine)
    become(others, later)
    for _ in range(2):
        machine.create("e", "two", "--mode", "device+cgroup")
        become(others, later, later)
        machine.ctl("remove", "e")
        become(others, later)
    machine.create("e", "two", "--mode", "device+cgroup")
    become(others, later, later)
    job.kill(SIGTERM)
    job.wait()
    # Without watch: the group has the settings of its preset.
    with Cgroup(guest, "a/later") as cgroup:
        for device in "de":
            cgroup.run(f"dd if=/dev/mapper/{device} of=/dev/null count=1 iflag=direct")
        assert machine.weights() == {"/a/later": 70}
        assert machine.weights("e") == {"/a/later": 70}
    # watch sets missing presets again when it has read the configuration.
    guest.run("dmsetup message d 0 preset weight cgroup:/a/later default")
    job = start(machine)
    become(others, later, later)
    guest.write(CONF, "[group /a/next]\nlatency = 3ms\n")
    guest.run(["kill", "-HUP", str(job.pid)])
    become(others, *[" path=/a/next latency=3000"] * 2)
    job.kill(SIGTERM)
    job.wait()


def test_another_of_the_same_name(machine: Machine) -> None:
    """watch writes nothing for the removed cgroup, which the kernel would complain of."""
    guest = machine.guest
    with Cgroup(guest, "a") as a, Cgroup(guest, "a/b") as b:
        b.set("io.weight", "200")
        job = start(machine)
        machine.follows({"/a/b": 200})
        guest.run(["kill", "-STOP", str(job.pid)])
        a.set("cgroup.subtree_control", "-io")
        a.set("cgroup.subtree_control", "+io")
        guest.run(["rmdir", b.directory])
        guest.run(["mkdir", b.directory])
        b.set("io.weight", "300")
        guest.run(["kill", "-CONT", str(job.pid)])
        machine.follows({"/a/b": 300})
        job.kill(SIGTERM)
        job.wait()


def test_io_max_of_a_device_between(machine: Machine) -> None:
    """The least maximum of all devices of the stack applies; check names it."""
    guest = machine.guest
    with (
        null_blk(guest, "nullb1", size_mib=16, memory_backed=1) as disk,
        linear(guest, "low", disk),
        linear(guest, "middle", "/dev/mapper/low"),
        linear(guest, "high", "/dev/mapper/middle"),
        Cgroup(guest, "a/b") as cgroup,
    ):
        machine.ctl("create", "--pool", "q", "--mode", "device+cgroup", "e", "high")
        job = start(machine)
        low, middle = (
            guest.run(
                ["dmsetup", "info", "-c", "--noheadings", "-o", "major,minor", name]
            ).out.strip()
            for name in ("low", "middle")
        )
        assert low.count(":") == 1
        for text, bounds in (
            (f"{middle} wbps=3000000", "max=max,3000000,max,max"),
            (f"{low} wbps=2000000", "max=max,2000000,max,max"),
            (f"{low} wbps=4000000", "max=max,3000000,max,max"),
        ):
            cgroup.set("io.max", text)
            machine.bounds("/a/b", [bounds])
        hints = guest.run([machine.program, "check"], check=False).out
        assert re.search(r"/a/b: its io.max on (low|middle) \(of 1 such", hints), hints
        for number in (low, middle):
            cgroup.set("io.max", f"{number} wbps=max")
        machine.bounds("/a/b", [])
        job.kill(SIGTERM)
        job.wait()
        guest.run(["dmsetup", "remove", "--retry", "e"])


def test_bfq(machine: Machine) -> None:
    """Weights in BFQ's files, which exist while it is loaded, are adopted at once."""
    guest = machine.guest
    guest.run(["modprobe", "bfq"])
    try:
        with Cgroup(guest, "a/b") as cgroup:
            cgroup.set("io.bfq.weight", "250")
            job = start(machine)
            machine.follows({"/a/b": 250})
            limit_ms = machine.limit_ms(250, "/a/b")
            cgroup.set("io.bfq.weight", "400")
            assert machine.takes_ms(400, "/a/b") < limit_ms
            # The kernel's own file has priority.
            cgroup.set("io.weight", "500")
            assert machine.takes_ms(500, "/a/b") < limit_ms
            cgroup.set("io.weight", "100")
            assert machine.takes_ms(400, "/a/b") < limit_ms
            cgroup.set("io.bfq.weight", "100")
            machine.follows({"/a/b": None})
            job.kill(SIGTERM)
            job.wait()
    finally:
        guest.rmmod("bfq")


@contextmanager
def logical_volume(guest: Guest) -> Iterator[str]:
    """A logical volume."""
    with (
        null_blk(guest, size_mib=64, memory_backed=1) as disk,
        VolumeGroup(guest, "vg0", [disk]) as group,
    ):
        yield group.create("lv", 32)


VOLUMES: dict[str, Callable[[Guest], AbstractContextManager[str]]] = {
    "lv": logical_volume,
    "luks": luks,
}


@pytest.fixture
def service(ioband: Guest, iobandctl: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """Watch as a service; ioband device d over a volume of the kind that the test names."""
    install_watch(ioband)
    ioband.write(CONF, "[group /system.slice/fixed.service]\nweight = 700\n")
    with VOLUMES[request.param](ioband) as volume:
        machine = Machine(ioband, str(iobandctl), volume)
        machine.create("d", volume)
        ioband.run(f"systemctl daemon-reload; systemctl start {UNIT}")
        yield machine
        ioband.run(f"systemctl stop {UNIT} db.service fixed.service; rm {CONF}", check=False)
        ioband.run(f"rm /run/systemd/system/{UNIT} /usr/sbin/iobandctl; systemctl daemon-reload")
        ioband.run(["dmsetup", "remove", "--retry", "d"])


@pytest.mark.guest(systemd=True)
@pytest.mark.parametrize("service", VOLUMES, indirect=True)
def test_set_property(service: Machine) -> None:
    """systemd's properties, for all devices or for this one, apply at once."""
    service.guest.run(DB)
    service.takes_ms(250)
    limit_ms = service.limit_ms(250)
    service.ask(IOWeight=400)
    assert service.takes_ms(400) < limit_ms
    service.ask(IODeviceWeight=f"{service.disk} 300")
    assert service.takes_ms(300) < limit_ms
    service.ask(IODeviceWeight="")
    service.takes_ms(400)


@pytest.mark.guest(systemd=True)
@pytest.mark.parametrize("service", ["lv"], indirect=True)
def test_a_directory_that_does_not_answer(service: Machine) -> None:
    """systemd has looked at it before; other settings of the service are followed."""
    guest = service.guest
    guest.run(["mkdir", HUNG])
    guest.run(DB)
    service.ask(IODeviceWeight=f"{HUNG} 305")
    with hung(guest):
        # Not by systemd, which would look at the directory, and hang.
        guest.write("/sys/fs/cgroup/system.slice/db.service/io.weight", "260")
        service.takes_ms(260)
    assert f"IODeviceWeight= for {HUNG} is ignored" in service.said()


@pytest.mark.guest(systemd=True)
@pytest.mark.parametrize("service", ["lv"], indirect=True)
def test_systemd(service: Machine) -> None:
    """systemd's properties apply on a logical volume, also after restarts of all services."""
    guest, takes_ms, ask = service.guest, service.takes_ms, service.ask
    guest.run(DB)
    ask(IOWeight=400)
    # This systemd ignores an empty list, so "infinity" resets the device.
    for target, words in (("25ms", " latency=25000"), ("infinity", "")):
        ask(IODeviceLatencyTargetSec=f"/dev/vg0/lv {target}")
        line = f"group=cgroup:/system.slice/db.service weight=400{words}\n"
        wait_until(guest, lambda line=line: line in service.ctl("groups", "--weights"), line)

    # A directory stands for its device, also in /home.
    guest.run("mkfs.ext4 -q /dev/mapper/d && mkdir -p /home/db && mount /dev/mapper/d /home/db")
    ask(IODeviceWeight="/home/db 305")
    takes_ms(305)
    guest.run("umount /home/db; rmdir /home/db")
    ask(IODeviceWeight="")
    takes_ms(400)
    # systemd writes io.max for the disk, which lies below ioband.
    for limit, words in (("3000000", " max=3000000,max,max,max"), ("", "")):
        ask(IOReadBandwidthMax=limit and f"/dev/vg0/lv {limit}")
        line = f"group=cgroup:/system.slice/db.service weight=400{words}\n"
        wait_until(guest, lambda line=line: line in service.ctl("groups", "--weights"), line)
        hints = guest.run([service.program, "check"], check=False).out
        assert ("/system.slice/db.service: its io.max on nullb0" in hints) == bool(limit), hints

    # The configuration has priority; its preset applies from the first I/O.
    run = ["systemd-run", "-q", "-p", "IOWeight=20", "--unit=fixed.service"]
    guest.run([*run, "sleep", "infinity"])
    takes_ms(700, "/system.slice/fixed.service")
    guest.run(["systemctl", "stop", "fixed.service"])
    guest.run(["systemctl", "stop", UNIT])
    read = "dd if=/dev/mapper/d of=/dev/null iflag=direct count=1"
    guest.run([*run, "--wait", "sh", "-c", f"{read}; dmsetup message d 0 groups >/run/groups"])
    assert " weight=700 set=1 path=/system.slice/fixed.service\n" in guest.read("/run/groups")
    guest.run(["systemctl", "start", UNIT])

    guest.run(f"kill -9 $(systemctl show -P MainPID {UNIT})")
    ask(IOWeight=500)
    takes_ms(500)
    guest.run(["systemctl", "daemon-reexec"])
    ask(IODeviceWeight="/dev/vg0/lv 301")
    takes_ms(301)

    # While the bus does not answer, systemd's last properties apply.
    bus = guest.run(["systemctl", "show", "-P", "MainPID", "dbus.service"]).out.strip()
    guest.run(["kill", "-STOP", bus])
    try:
        with Cgroup(guest, "later") as later:
            guest.write("/sys/fs/cgroup/system.slice/db.service/io.weight", "600")
            later.set("io.weight", "77")
            wait_until(guest, lambda: service.weights().get("/later") == 77, "not on its own")
            assert service.weights()["/system.slice/db.service"] == 301
    finally:
        guest.run(["kill", "-CONT", bus])

    # Properties that are set without a bus apply when there is one again.
    guest.run(["systemctl", "stop", "dbus.socket", "dbus.service"])
    with Cgroup(guest, "later") as later:
        ask(IODeviceWeight="/dev/vg0/lv 302")
        later.set("io.weight", "78")
        wait_until(guest, lambda: service.weights().get("/later") == 78, "not on its own")
        assert service.weights()["/system.slice/db.service"] == 301
    guest.run(["systemctl", "start", "dbus.socket", "dbus.service"])
    takes_ms(302)

    # Without the controller a service has no I/O of its own.
    guest.write(
        CONF,
        "[watch]\nenable-controller = yes\n[group /system.slice/plain.*]\nweight = 3\n",
    )
    guest.run(["systemctl", "reload", UNIT])
    guest.run(["systemd-run", "-q", "--unit=plain.service", "sleep", "infinity"])
    takes_ms(3, "/system.slice/plain.service")
    guest.run(["systemctl", "stop", "plain.service"])
    assert guest.run(["systemctl", "show", "-P", "NRestarts", UNIT]).out == "1\n"


LENT = "/system.slice/lent.service"
OWN_WEIGHT = f"/sys/fs/cgroup{LENT}/io.weight"
MANY = 3000
# A user fills a cgroup that systemd has delegated with cgroups, and writes without a pause.
HOSTILE = f"""
import os, sys
os.chdir("/sys/fs/cgroup{LENT}")
def write(name, text):
    try:
        with open(name, "w") as file:
            file.write(text)
    except OSError:
        pass
os.mkdir("main")
write("main/cgroup.procs", str(os.getpid()))
write("cgroup.subtree_control", "+io")
for n in range({MANY}):
    os.mkdir(str(n))
os.mkdir({EVIL!r})
write("/tmp/made", "")
for n in range(10**9):
    if os.path.exists("/tmp/enough"):
        break
    write("io.weight", "10000")
    write(f"{{n % 200}}/io.weight", str(200 + n % 50))
    os.mkdir("more")
    os.rmdir("more")
    write("cgroup.subtree_control", "-io" if n % 1000 == 500 else "+io")
write("cgroup.subtree_control", "+io")
write({EVIL!r} + "/io.weight", "333")
write("1/io.max", sys.argv[1] + " rbps=1048576")
write("1/io.weight", "777")
write("/tmp/done", open("1/io.max").read())
import time
time.sleep(10000)
"""
PATTERN = f"""
[group lent]
group = {LENT}/bank*
minimum = rbps=1MiB
"""
LEND = ["systemd-run", "-q", "--unit=lent.service", "-p", "User=nobody", "-p", "Delegate=io"]


def cpu_s(guest: Guest, pid: str) -> float:
    """The CPU time that a process has used."""
    stat = guest.read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / 100


@pytest.mark.long("the bounds have their tests beside a fake kernel")
@pytest.mark.guest(systemd=True)
@pytest.mark.parametrize("service", ["lv"], indirect=True)
def test_a_hostile_user(service: Machine) -> None:
    """Cgroups, weights and names of a user cost little, and do not affect others."""
    guest = service.guest
    number = guest.run(f"lsblk -dno MAJ:MIN {service.disk}").out.strip()
    guest.run(DB)
    service.takes_ms(250)
    limit_ms = service.limit_ms(250)
    pid = guest.run(["systemctl", "show", "-P", "MainPID", UNIT]).out.strip()
    guest.expect_dmesg("the io controller is not enabled for it")
    guest.write("/run/hostile.py", HOSTILE)
    guest.run([*LEND, "/usr/bin/python3", "/run/hostile.py", number])
    try:
        wait_until(guest, lambda: guest.exists("/tmp/made"), "no cgroups", 300)
        # A careless root: the kernel accepts the weights of the delegated cgroup.
        guest.run(["chown", "nobody", OWN_WEIGHT])
        before_s, start_ms = cpu_s(guest, pid), guest.now_ms()
        guest.sleep(10)
        share = (cpu_s(guest, pid) - before_s) * 1000 / (guest.now_ms() - start_ms)
        service.ask(IOWeight=400)
        assert service.takes_ms(400) < limit_ms
        assert share < 0.2, f"{share:.0%} of a processor"
        guest.write("/tmp/enough", "")
        wait_until(guest, lambda: guest.exists("/tmp/done"), "not done", 60)
        wait_until(guest, lambda: service.weights().get(f"{LENT}/1") == 777, "not last", 600)
        wait_until(guest, lambda: "more than 256" in service.said(), "no bound", 600)
        watches = int(guest.run(f"cat /proc/{pid}/fdinfo/* | grep -c 'inotify wd:'").out)
        others = f"find /sys/fs/cgroup -path '*{LENT}' -prune -o -type d -print | wc -l"
        assert watches <= int(guest.run(others).out) + 256
        assert service.said().count("is delegated and has more than 256") == 1
        assert guest.read(OWN_WEIGHT) == "default 10000\n"
        assert LENT not in service.weights()

        # A maximum would take the place of root's.  (io.latency: test_io_latency.py.)
        assert "rbps=1048576" in guest.read("/tmp/done")
        wait_until(guest, lambda: f"io.max of cgroup {LENT}/1" in service.said(), "not said")
        assert "max=" not in service.ctl("groups", "--weights")
        wait_until(guest, lambda: 333 in service.weights().values(), "no weight", 600)
        # A name cannot control the terminal of root.
        for verb in ("groups", "stat", "metrics", "check"):
            text = on_terminal(guest, f"{service.program} {verb}")
            assert verb != "groups" or EVIL_SHOWN in text, verb
        # A user can choose a name that fits a pattern.
        guest.write(CONF, guest.read(CONF) + PATTERN)
        guest.run(["systemctl", "reload", UNIT])
        says = f"users can choose names that fit {LENT}/bank*"
        wait_until(guest, lambda: says in service.said(), "no warning", 600)
    finally:
        guest.run("systemctl stop lent.service; rm -f /tmp/made /tmp/enough /tmp/done", timeout=300)

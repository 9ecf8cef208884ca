# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl apply and dump: configurations and their effect in a real kernel."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness.cgroup import Cgroup
from harness.devices import DmDevice, VolumeGroup, linear, mounted, null_blk, scsi_debug
from harness.guest import Guest
from harness.waiting import wait_until

pytestmark = pytest.mark.guest(systemd=True)

CONF = "/etc/ioband.conf"
DROP_INS = "/etc/ioband.conf.d"


@dataclass(frozen=True)
class Machine:
    """A guest with iobandctl, two logical volumes on one disk, and a configuration."""

    guest: Guest
    program: str

    def configure(self, text: str, file: str = CONF) -> None:
        """Write a file of the configuration."""
        self.guest.run(["mkdir", "-p", DROP_INS])
        self.guest.write(file, text)

    def run(self, *args: str) -> str:
        """Run iobandctl; returns its output and its notes."""
        done = self.guest.run([self.program, *args])
        return done.out + done.err

    def json(self, *args: str) -> list[dict]:
        """The objects in iobandctl's JSON output."""
        (rows,) = json.loads(self.guest.run([self.program, *args, "--json"]).out).values()
        return rows

    def refused(self, rc: int, *says: str, device: str | None = None) -> None:
        """Assert that apply fails with this code and these messages, and changes nothing."""
        before = self.run("dump")
        operands = [device] if device else []
        done = self.guest.run([self.program, "apply", *operands], check=False)
        assert (done.rc, done.out) == (rc, ""), done
        for text in says:
            assert text in done.err, done.err
        assert self.run("dump") == before

    def apply(self) -> list[tuple]:
        """Check apply against --dry-run; returns the changes.  A second apply changes nothing."""
        before = self.run("dump")
        planned = self.json("apply", "--dry-run")
        assert self.run("dump") == before
        assert self.json("apply") == planned
        assert self.json("apply") == []
        keys = ("action", "pool", "device", "group", "setting", "from", "to")
        return [tuple(row[key] for key in keys) for row in planned]

    def devices(self) -> dict[str, dict]:
        """The ioband devices by name."""
        return {row["name"]: row for row in self.json("list")}

    def weights(self) -> dict[tuple[str, str | None, str], int]:
        """All weights that were set, by pool, device and group."""
        return {
            (row["pool"], row["device"], row["group"]): row["weight"]
            for row in self.json("groups", "--weights")
        }

    def bounds(self, group: str, *options: str) -> dict[str, int]:
        """The maximum and the minimum of a group in a single pool or tree."""
        (most,) = self.json("get-max", group, *options)
        (least,) = self.json("get-min", group, *options)
        row = most | least
        return {key: row[key] for key in row if key.startswith(("max_", "min_")) and row[key]}


@pytest.fixture
def machine(ioband: Guest, iobandctl: Path) -> Iterator[Machine]:
    """vg0/one and vg0/two of 32 MiB; removes ioband devices and configuration at the end."""
    machine = Machine(ioband, str(iobandctl))
    with (
        null_blk(ioband, size_mib=128, memory_backed=1) as disk,
        VolumeGroup(ioband, "vg0", [disk]) as group,
    ):
        group.create("one", 32)
        group.create("two", 32)
        yield machine
        ioband.run(["rm", "-rf", CONF, DROP_INS])
        for name in machine.devices():
            machine.run("remove", name)


@contextmanager
def cgroups(guest: Guest, *paths: str) -> Iterator[None]:
    """Cgroups with the io controller."""
    with Cgroup(guest, paths[0]):
        if paths[1:]:
            with cgroups(guest, *paths[1:]):
                yield
        else:
            yield


@pytest.mark.all_kernels
def test_apply_and_dump(machine: Machine) -> None:
    """Make two devices, then change every setting that can change; a dump has the same."""
    machine.configure(
        "[device lvs]\nas = io-%n\nvolume = vg0/*\npool = p\n"
        "[pool *]\nmeasure = ios\n[pool p]\ndepth = 7\nslice = 0\nwrites_starved = 3\n"
        "[group /a*]\nweight = 300\n[group a/b]\nweight = 40\n"
    )
    with cgroups(machine.guest, "a", "a/b", "ab"):
        changes = machine.apply()
        assert changes[:2] == [
            ("create", "p", f"io-vg0-{name}", None, None, None, f"/dev/mapper/vg0-{name}")
            for name in ("one", "two")
        ]
        assert set(changes[2:]) == {
            ("weight", "p", None, group, None, "default", weight)
            for group, weight in (("/a", "300"), ("/a/b", "40"), ("/ab", "300"))
        } | {("preset", "p", None, "/a/b", "weight", "default", "40")}
        one = machine.devices()["io-vg0-one"]
        assert (one["pool"], one["measure"], one["depth"], one["slice_ms"]) == ("p", "ios", "7", 0)
        assert one["writes_starved"] == 3
        expected = {"/a": 300, "/a/b": 40, "/ab": 300}
        assert machine.weights() == {("p", None, key): w for key, w in expected.items()}

        machine.configure(
            "[device lvs]\nmode = device+cgroup\nweight = 70\nmaximum = rbps=2MiB\n"
            "minimum = rbps=1MiB\n[pool p]\nmeasure = time\nslice = 40\ndepth = auto\n"
            "writes_starved = 5\n[group root]\nweight = 9\n[group a/b]\nweight = default\n"
            "[group own]\ngroup = /a\\142*\ndevice = io-vg0-two\nweight = 5\n"
            "[group /ab]\nmaximum = wbps=3KiB riops=4\nminimum = wbps=3KiB wiops=5\n",
            f"{DROP_INS}/50-more.conf",
        )
        changes = machine.apply()
        assert ("set", "p", None, None, "slice", "0", "40") in changes
        assert ("set", "p", None, None, "writes_starved", "3", "5") in changes
        assert ("set", "p", "io-vg0-one", None, "mode", "cgroup", "device+cgroup") in changes
        for kind, device, group, bound in [
            ("maximum", "io-vg0-one", "device:io-vg0-one", "rbps=2MiB"),
            ("maximum", "io-vg0-two", "/ab", "wbps=3KiB riops=4"),
            ("minimum", "io-vg0-one", "device:io-vg0-one", "rbps=1MiB"),
            ("minimum", "io-vg0-two", "/ab", "wbps=3KiB wiops=5"),
        ]:
            assert (kind, "p", device, group, None, "default", bound) in changes
        assert machine.bounds("io-vg0-one") == {"max_rbps": 2 << 20, "min_rbps": 1 << 20}
        assert machine.bounds("ab", "--device", "io-vg0-one") == (
            {"max_wbps": 3072, "max_riops": 4, "min_wbps": 3072, "min_wiops": 5}
        )
        assert machine.devices()["io-vg0-one"] == one | {
            "mode": "device+cgroup", "weight": 70, "measure": "time", "depth": "auto",
            "slice_ms": 40, "writes_starved": 5,
        }  # fmt: skip
        weights = machine.weights()
        assert weights["p", None, "root"] == 9
        assert weights["p", "io-vg0-one", "/ab"] == 300
        assert weights["p", "io-vg0-two", "/ab"] == 5
        assert ("p", "io-vg0-two", "/a/b") not in weights

        dump = machine.run("dump")
        machine.configure(dump)
        machine.guest.run(["rm", f"{DROP_INS}/50-more.conf"])
        # The paths of the groups keep the settings of a pattern as presets.
        assert {change[0] for change in machine.apply()} == {"preset"}
        assert machine.run("dump") == dump
        for name in machine.devices():
            machine.run("remove", name)
        machine.run("apply")
        assert machine.run("dump") == dump


@pytest.mark.all_kernels
def test_cgroups_that_are_yet_to_come(machine: Machine) -> None:
    """New cgroups get the presets of their paths while the configuration has these."""
    guest = machine.guest
    devices = "[device lvs]\nas = io-%n\nvolume = vg0/*\npool = p\n"
    own = "[device lvs]\nmode = device+cgroup\n"
    groups = "[group /svc/db]\nweight = 400\nmaximum = rbps=100MiB\nlatency = 5ms\n"
    groups += "[group /svc/*]\nweight = 7\n[group /svc]\nweight = default\n"

    def presets(device: str | None, *settings: tuple[str, str, str]) -> list[tuple]:
        return [("preset", "p", device, "/svc/db", *setting) for setting in settings]

    def db() -> list[tuple]:
        with Cgroup(guest, "svc/db") as cgroup:
            read = "if=/dev/mapper/io-vg0-one of=/dev/null count=1 iflag=direct"
            cgroup.run(["dd", *read.split()])
            line = " group=cgroup:/svc/db weight=400 max=104857600,max,max,max latency=5000\n"
            assert line in machine.run("groups", "--weights")
            return machine.json("apply", "--dry-run")

    given = [
        ("maximum", "default", "rbps=100MiB"),
        ("weight", "default", "400"),
        ("latency", "none", "5ms"),
    ]
    taken = [(setting, to, before) for setting, before, to in (given[1], given[2], given[0])]
    machine.configure(devices + groups)
    assert machine.apply()[2:] == presets(None, *given)
    assert db() == []
    wait_until(
        guest, lambda: "/svc/db" not in machine.run("groups", "-o", "PATH"), "the group goes"
    )
    dump = machine.run("dump")
    assert "group = /svc/db\npool = p\ndevice = -\nweight = 400\nmaximum = rbps=100MiB\n" in dump
    machine.configure(dump)
    assert machine.apply() == []
    machine.configure(devices + groups)
    machine.configure(own, f"{DROP_INS}/50-more.conf")
    each = [(f"io-vg0-{name}", setting) for name in ("one", "two") for setting in given]
    assert machine.apply()[2:] == [
        change for device, setting in each for change in presets(device, setting)
    ]
    db()
    wait_until(
        guest, lambda: "/svc/db" not in machine.run("groups", "-o", "PATH"), "the group goes"
    )
    # The devices keep their settings; the configuration has no more cgroups.
    machine.configure(devices)
    each = [(f"io-vg0-{name}", setting) for name in ("one", "two") for setting in taken]
    assert machine.apply() == [
        change for device, setting in each for change in presets(device, setting)
    ]
    wait_until(guest, lambda: "/svc" not in machine.run("dump"), "the group goes")


def test_what_is_no_longer_asked_for(machine: Machine) -> None:
    """apply resets removed settings of cgroups, devices and pools, but not those made by hand."""
    guest = machine.guest
    device = "[device io]\ndevice = vg0/one\n"
    own = "pool = p\nmode = device+cgroup\nweight = 70\nmaximum = rbps=9MiB\n"
    pool = "[pool p]\nmeasure = ios\ndepth = 7\nslice = 30\nwrites_starved = 9\n"
    group = "[group /a]\nweight = 300\nmaximum = wbps=3MiB\nminimum = riops=5\nlatency = 4ms\n"
    pattern = "[group /b*]\nmaximum = rbps=1MiB\n[group root]\nweight = 7\n"
    with cgroups(guest, "a", "b", "bb"):
        machine.configure(device + own + pool + group + pattern)
        machine.apply()
        machine.run("set-max", "/bb", "rbps=1MiB")
        assert machine.bounds("a") == {"max_wbps": 3 << 20, "min_riops": 5}
        # Single lines are removed.
        machine.configure(
            device + own.replace("maximum = rbps=9MiB\n", "") + pool + group + pattern
        )
        (change,) = machine.apply()
        assert change == ("maximum", "p", "io", "device:io", None, "rbps=9MiB", "default")
        machine.configure(
            device + own.replace("maximum = rbps=9MiB\n", "")
            + pool.replace("slice = 30\nwrites_starved = 9\n", "").replace("measure = ios\n", "")
            + group.replace("maximum = wbps=3MiB\n", "") + pattern
        )  # fmt: skip
        assert {change[0::4] + change[5:] for change in machine.apply()} == {
            ("set", "measure", "ios", "bytes"),
            ("set", "slice", "30", "0"),
            ("set", "writes_starved", "9", "2"),
            ("preset", "maximum", "wbps=3MiB", "default"),
            ("maximum", None, "wbps=3MiB", "default"),
        }
        assert machine.bounds("a") == {"min_riops": 5}
        # apply resets settings from a preset in the same way.
        guest.run(["rmdir", "/sys/fs/cgroup/a"])
        with Cgroup(guest, "a") as cgroup:
            cgroup.run(["dd", "if=/dev/mapper/io", "of=/dev/null", "count=1", "iflag=direct"])
            assert machine.weights()["p", "io", "/a"] == 300
            machine.configure(device)
            machine.run("apply", "--dry-run")
            machine.run("apply", "/dev/vg0/one")
            machine.run("apply")
            assert machine.json("apply") == []
        guest.run(["mkdir", "/sys/fs/cgroup/a"])  # for cgroups() to remove
        io = machine.devices()["io"]
        assert (io["pool"], io["mode"], io["depth"]) == ("nullb0", "cgroup", "auto")
        assert machine.weights() == {}


def test_what_a_device_has_that_is_not_chosen(machine: Machine) -> None:
    """The device and its groups keep their settings; only those of its own group are reset."""
    group = "[group /a]\nmaximum = wbps=3MiB\n"
    own = "[device io]\ndevice = vg0/one\nmode = device\nweight = 70\nminimum = rbps=9MiB\n"
    other = "[device other]\ndevice = vg0/two\npool = q\n"
    machine.configure(own + other + group)
    with cgroups(machine.guest, "a"):
        machine.apply()
        machine.run("set-max", "/a", "--pool", "q", "wbps=3MiB")
        machine.run("set", "--pool", "q", "depth=9")
        machine.configure(other + "[pool q]\ndepth = 9\n")
        assert [row["action"] for row in machine.json("apply", "/dev/vg0/two")] == ["preset"]
        assert sorted(change[0] for change in machine.apply()) == ["minimum", "weight"]
        assert machine.devices()["io"]["mode"] == "device"
        assert machine.bounds("a") == {"max_wbps": 3 << 20}
        machine.configure(other)
        assert machine.apply() == []
        assert machine.devices()["other"]["depth"] == "9"


def test_nothing_is_half_applied(machine: Machine) -> None:
    """Errors name file and line, and change nothing; the unit tests have more of them."""
    guest = machine.guest
    machine.refused(3, "there is no configuration")
    machine.configure("[device one]\ndevice = vg0/one\n")
    machine.apply()
    for text, rc, *says in [
        ("[device one]\ndevice = vg0/one\n\n\nwieght = 3", 2, f"{CONF}:5:", "'wieght'"),
        ("[device x]\ndevice = vg0/nope", 3, f"{CONF}:2:", "'vg0/nope'", "optional = yes"),
        ("[device one]\ndevice = vg0/two", 4, f"{CONF}:1", "would be named one"),
        ("[device a]\ndevice=vg0/two\n[group uid:nobody-at-all]\nweight=3", 3, f"{CONF}:3"),
        ("[device a]\ndevice=vg0/two\n[pool *]\nmeasure = time", 2, f"{CONF}:4", "slice"),
        (
            "[group root]\nmaximum = rbps=1MiB\nminimum = rbps=2MiB",
            2,
            f"{CONF}:3: a minimum of rbps=2MiB is more than the maximum of rbps=1MiB",
        ),
    ]:
        machine.configure(text)
        machine.refused(rc, *says)
    # Errors that only the kernel detects: the second change fails, and the first is undone.
    guest.expect_dmesg("device-mapper: ")
    with (
        null_blk(guest, "nullb7", size_mib=64, zoned=1, zone_size=4, memory_backed=1) as disk,
        linear(guest, "zz", disk),
    ):
        machine.configure(
            "[device one]\ndevice = vg0/one\npool = old\nmode = device+cgroup\n"
            "[pool old]\nmeasure = time\nslice = 40\ndepth = 5\nwrites_starved = 7\n"
            "[group root]\nweight = 7\n"
            "[group /kept]\nweight = 70\nmaximum = wiops=9\nminimum = riops=3\n"
        )
        with Cgroup(guest, "kept"):
            machine.apply()
            # The pool ceases with its last device; the undo makes it again with its settings.
            machine.configure(
                "[device one]\ndevice = vg0/one\npool = new\nmode = device+cgroup\n"
                "[device zz]\nas = x-%n\ndevice = zz\n"
            )
            machine.refused(1, "cannot make x-zz", "1 change was undone: all is as")
            assert machine.weights()["old", "one", "/kept"] == 70
            assert machine.bounds("kept") == {"max_wiops": 9, "min_riops": 3}
        wait_until(
            guest,
            lambda: "/kept" not in machine.run("groups", "-o", "PATH"),
            "the cgroup's group goes",
        )
        # The undo also restored the preset of the cgroup's path.
        kept = "group = /kept\npool = old\ndevice = one\nweight = 70\nmaximum = wiops=9\n"
        assert f"{kept}minimum = riops=3\n" in machine.run("dump")
        assert "depth = 5\nslice = 40\nwrites_starved = 7\n" in machine.run("dump")
        machine.configure("[device all]\nas = x-%n\ndevice = vg0/two zz\n")
        machine.refused(
            1, "cannot make x-zz", "is zoned", f"{CONF}:1", "1 change was undone: all is as"
        )


def test_what_paths_were_given_comes_back(machine: Machine) -> None:
    """The undo restores presets of a pool that ceased with its last device, and reports losses."""
    guest = machine.guest
    guest.expect_dmesg("device-mapper: ")
    presets = "dmsetup message one 0 presets | cut -d' ' -f2- | sort"
    move = "[device one]\ndevice = vg0/one\npool = new\n[device zz]\nas = x-%n\ndevice = zz\n"
    with (
        null_blk(guest, "nullb7", size_mib=64, zoned=1, zone_size=4, memory_backed=1) as disk,
        linear(guest, "zz", disk),
    ):
        machine.configure(
            "[device one]\ndevice = vg0/one\npool = old\n"
            "[group /later]\nweight = 100\nmaximum = wiops=9\nlatency = 3ms\n"
            "[group /soon]\nminimum = riops=3\n"
        )
        machine.apply()
        before = guest.run(presets).out
        assert before.count(" path=/") == 2, before
        machine.configure(move)
        machine.refused(1, "cannot make x-zz", "1 change was undone: all is as")
        assert guest.run(presets).out == before
        # In mode "device" the device lists the presets of its own tree, unused now, and no others.
        guest.run("dmsetup message one 0 set mode=device")
        guest.run("dmsetup message one 0 preset weight cgroup:/own 5")
        machine.refused(1, "cannot make x-zz", "presets of cgroups in the tree of pool old itself")
        left = guest.run(presets).out
        assert " weight=5 path=/own\n" in left
        assert left.count(" path=/") == 1, left


# Cgroups as in a container: the container's own cgroup is the root.
CONTAINED = "umount -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec"


def test_paths_in_a_cgroup_namespace(machine: Machine) -> None:
    """In a container, paths differ from the module's: apply sets and removes no presets."""
    guest = machine.guest
    machine.configure("[device one]\ndevice = vg0/one\npool = p\n[group /a]\nweight = 70\n")
    machine.apply()
    presets = guest.run("dmsetup message one 0 presets").out
    assert " path=/a\n" in presets
    machine.configure("[group /inner]\nweight = 80\n")
    apply = ["unshare", "--cgroup", "--mount", "sh", "-c", f"{CONTAINED} {machine.program} apply"]
    with Cgroup(guest, "box") as box:
        done = box.run(apply)
        assert "there is no cgroup /inner now" in done.err
        assert "as in a cgroup namespace" in done.err
    assert guest.run("dmsetup message one 0 presets").out == presets
    machine.run("apply")
    assert " path=/a\n" not in guest.run("dmsetup message one 0 presets").out


def test_what_is_in_use(machine: Machine) -> None:
    """A device named by its path must be free; a match of a pattern is skipped."""
    guest = machine.guest
    with mounted(guest, "/dev/vg0/one"):
        machine.configure("[device lvs]\nas = io-%n\ndevice = vg0/one vg0/two\n")
        machine.refused(4, "is mounted on /run/mnt", f"{CONF}:1")
        machine.configure("[device lvs]\nvolume = vg0/*\n")
        said = machine.run("apply")
        assert "/dev/mapper/vg0-one is left alone, as it is in use" in said
        assert list(machine.devices()) == ["io-vg0-two"]


def test_what_ioband_was_inserted_into(machine: Machine) -> None:
    """The dump has no section for an inserted device, because no section can create it."""
    machine.run("insert", "--pool", "p", "/dev/vg0/one")
    try:
        dump = machine.run("dump")
        assert "# ioband was inserted into vg0-one, in pool p: " in dump
        assert "[pool p]" in dump
        assert "[device" not in dump
        machine.configure(dump)
        assert machine.apply() == []
        machine.configure("[device one]\ndevice = vg0/one\n")
        machine.refused(4, "was inserted into vg0-one", "'iobandctl extract vg0-one'", f"{CONF}:1")
        machine.configure("[device lvs]\nas = io-%n\nvolume = vg0/*\n")
        assert "vg0-one is left alone, as ioband was inserted" in machine.run("apply")
        assert list(machine.devices()) == ["io-vg0-two", "vg0-one"]
    finally:
        machine.run("extract", "/dev/vg0/one")


def test_which_devices(machine: Machine) -> None:
    """By path, name, serial number, type and rotational flag; the last section wins."""
    guest = machine.guest
    with (
        null_blk(guest, "nullb7", size_mib=8) as disk,
        DmDevice(guest, "plain", "0 2048 zero"),
        scsi_debug(guest) as numbered,
    ):
        kernel = disk.removeprefix("/dev/")
        serial = guest.run(["lsblk", "-dno", "SERIAL", numbered]).out.strip()
        scsi = numbered.removeprefix("/dev/")
        guest.write(f"/sys/block/{kernel}/queue/rotational", "1")
        for keys, chosen in [
            ("path = /dev/vg0/*", ["vg0-one", "vg0-two"]),
            ("type = dm\nname = pl* none*", ["plain"]),
            ("name = pl* null*\nrotational = yes", [kernel]),
            (f"device = vg0/two /dev/nope {disk}\noptional = yes", [kernel, "vg0-two"]),
            (f"serial = {serial}", [scsi]),
            (f"serial = none {serial[:-1]}*\nname = sd*", [scsi]),
            (f"serial = {serial}\nname = nullb*", []),
            (f"serial = *{serial}\ntype = disk", [scsi]),
        ]:
            machine.configure(f"[device lvs]\nas = io-%n\n{keys}\n")
            rows = machine.json("apply", "--dry-run")
            assert {row["device"] for row in rows} == {f"io-{name}" for name in chosen}
        machine.configure(
            "[device lvs]\nas = io-%n\ntype = lvm\n[device special]\ndevice = vg0/one\nmode = uid\n"
            "[device others]\nas = other-%n\nvolume = *\n"
        )
        rows = machine.json("apply", "--dry-run")
        assert [row["device"] for row in rows] == ["special", "other-vg0-two"]
        rows = machine.json("apply", "--dry-run", "/dev/vg0/two")
        assert [row["device"] for row in rows] == ["other-vg0-two"]
        machine.refused(3, "no section of the configuration fits plain", device="plain")


def test_other_pool(machine: Machine) -> None:
    """A device moves to another pool with its own bounds, and the weights there are set."""
    own = "mode = device\nmaximum = rbps=1MiB\nminimum = rbps=512KiB wiops=3\n"
    root = "[group root]\nweight = 7\n"
    machine.configure(f"[device all]\nas = d-%n\nvolume = vg0/*\n{own}{root}")
    machine.apply()
    new = f"[device d-vg0-one]\ndevice = vg0/one\npool = new\n{own}"
    machine.configure(f"[device all]\nas = d-%n\nvolume = vg0/*\n{own}{new}{root}")
    changes = machine.apply()
    assert changes[0] == ("set", "nullb0", "d-vg0-one", None, "pool", "nullb0", "new")
    assert changes[1] == ("weight", "new", None, "root", None, "default", "7")
    assert machine.devices()["d-vg0-one"]["pool"] == "new"
    assert machine.bounds("d-vg0-one") == {"max_rbps": 1 << 20, "min_rbps": 1 << 19, "min_wiops": 3}
    machine.configure(f"[device all]\nvolume = vg0/*\n{own}{root}[pool *]\nmeasure = ios\n")
    rows = machine.json("apply", "--dry-run", "/dev/vg0/two")
    assert [(row["pool"], row["to"]) for row in rows] == [("nullb0", "ios")]
    # Without a pool setting the device moves to its default pool.
    assert ("set", "new", "d-vg0-one", None, "pool", "new", "nullb0") in machine.apply()
    assert machine.devices()["d-vg0-one"]["pool"] == "nullb0"
    assert machine.bounds("d-vg0-one") == {"max_rbps": 1 << 20, "min_rbps": 1 << 19, "min_wiops": 3}


def test_a_pool_without_settings(machine: Machine) -> None:
    """A pool's default settings suit its disks, at creation and after a reset."""

    def shares_after(text: str, other: str = "d") -> tuple[str, int]:
        machine.configure(f"[device d]\ndevice = vg0/one\n{text}")
        machine.apply()
        device = machine.devices()[other]
        return device["measure"], device["slice_ms"]

    (disk,) = machine.guest.run("ls /sys/block/dm-*/slaves | grep -v : | sort -u").out.split()
    machine.guest.write(f"/sys/block/{disk}/queue/rotational", "1")
    assert shares_after("[pool *]\nmeasure = bytes\n") == ("bytes", 124)
    assert shares_after("") == ("time", 124)
    assert shares_after("[pool *]\nslice = 0\nmeasure = ios\n") == ("ios", 0)
    assert shares_after("") == ("time", 124)
    assert shares_after("[pool *]\nslice = 0\n") == ("bytes", 0)
    assert shares_after("") == ("time", 124)
    assert shares_after("pool = new\n") == ("time", 124)
    assert shares_after("pool = other\n[pool other]\nslice = 30\n") == ("time", 30)
    assert shares_after("pool = third\n[pool third]\nslice = auto\nmeasure = ios\n") == ("ios", 124)
    # Another device is made in a pool that a move creates, or moves to a pool that a move empties.
    other = "[device other]\ndevice = vg0/two\npool = "
    assert shares_after(f"pool = fourth\n{other}fourth\n", "other") == ("time", 124)
    assert shares_after(f"pool = fifth\n{other}sixth\n") == ("time", 124)
    assert shares_after(f"pool = seventh\n{other}fifth\n", "other") == ("time", 124)
    machine.guest.write(f"/sys/block/{disk}/queue/rotational", "0")
    assert shares_after(f"pool = eighth\n{other}fifth\n") == ("bytes", 0)


def test_pools_by_the_paths_of_disks(machine: Machine) -> None:
    """A section applies to the pool of a disk under any kernel name; unknown paths are reported."""
    guest, devices = machine.guest, "[device all]\nas = d-%n\nvolume = vg0/*\n"
    link = "/dev/disk/by-id/the-disk"
    (disk,) = guest.run("ls /sys/block/dm-*/slaves | grep -v : | sort -u").out.split()
    guest.run(f"mkdir -p /dev/disk/by-id && ln -s /dev/{disk} {link}")
    try:
        machine.configure(
            f"{devices}[pool {link}]\nmeasure = ios\n"
            f"[group root]\nweight = 7\npool = {link}\n"
            "[pool /dev/disk/by-id/other]\nmeasure = time\n"
        )
        assert "conf:9: there is no device /dev/disk/by-id/other, so that" in machine.run("apply")
        assert {row["measure"] for row in machine.devices().values()} == {"ios"}
        assert machine.weights() == {(disk, None, "root"): 7}
        # Settings of a section with a path are reset like those of a section with a name.
        machine.configure(f"{devices}[pool {link}]\nmeasure = ios\n")
        assert machine.apply() == [("weight", disk, None, "root", None, "7", "default")]
        # An LV lies on the same disk; a device section may also name the pool by the path.
        machine.configure(
            "[device d-vg0-one]\ndevice = vg0/one\npool = new\n"
            "[pool /dev/vg0/one]\nmeasure = bytes\n"
        )
        assert ("set", disk, None, None, "measure", "ios", "bytes") in machine.apply()
        machine.configure(f"[device d-vg0-one]\ndevice = vg0/one\npool = {link}\n")
        assert machine.apply()[0] == ("set", "new", "d-vg0-one", None, "pool", "new", disk)
        says = "pool = /dev/disk/by-id/other: there is no such device, so that its pool is unknown"
        nowhere = "device = vg0/one\npool = /dev/disk/by-id/other\n"
        machine.configure(f"[device d-vg0-one]\n{nowhere}")
        machine.refused(3, says, f"{CONF}:3; nothing was changed")
        machine.run("remove", "d-vg0-one")
        machine.refused(3, says, f"{CONF}:1; nothing was changed")
        names = {disk: True, f"/dev/{disk}": True, link: False, "disks": False}
        for name, warned in names.items():
            machine.configure(f"[pool {name}]\nmeasure = ios\n")
            said = machine.run("apply", "--dry-run")
            assert (f"{CONF}:1: pool {name} has the kernel's name of a disk" in said) == warned
    finally:
        guest.run(["rm", link])


def test_insert(machine: Machine) -> None:
    """ioband enters a mounted volume, also after removals, with all settings or not at all."""
    guest = machine.guest
    place = "device = vg0/one\ninsert = yes\n"
    with mounted(guest, "/dev/vg0/one"):
        machine.configure(
            f"[device one]\n{place}pool = p\nmode = device\nweight = 70\nmaximum = wbps=9MiB\n"
            "[pool p]\ndepth = 7\n[group root]\nweight = 5\n"
        )
        changes = machine.apply()
        assert changes == [
            ("insert", "p", "vg0-one", None, None, None, "/dev/mapper/vg0-one"),
            ("maximum", "p", "vg0-one", "device:vg0-one", None, "default", "wbps=9MiB"),
            ("weight", "p", None, "root", None, "default", "5"),
        ]
        (row,) = machine.json("list")
        assert (row["name"], row["inserted"], row["weight"], row["depth"]) == (
            "vg0-one",
            True,
            70,
            "7",
        )
        # LVM removes ioband; apply inserts it again with its settings.
        guest.run("lvextend -qq -L 40M vg0/one")
        assert machine.devices() == {}
        assert machine.apply() == changes
        machine.configure(f"[device one]\n{place}pool = p\nmode = device\nweight = 80\n")
        assert [change[0] for change in machine.apply()] == ["weight", "maximum", "set", "weight"]
        # After an error, the insertion is undone.
        machine.run("extract", "vg0/one")
        guest.expect_dmesg("device-mapper: ")
        with (
            null_blk(guest, "nullb7", size_mib=64, zoned=1, zone_size=4, memory_backed=1) as disk,
            linear(guest, "zz", disk),
        ):
            machine.configure(f"[device one]\n{place}[device zz]\nas = x-%n\ndevice = zz\n")
            machine.refused(1, "cannot make x-zz", "1 change was undone: all is as")
            assert " ioband " not in guest.run("dmsetup table vg0-one").out
    for text, rc, *says in [
        (f"[device one]\n{place}as = x\n", 2, f"{CONF}:4", "keeps its name"),
        (
            "[device one]\ndevice = nullb0\ninsert = yes\n",
            1,
            f"{CONF}:3",
            "device of device-mapper",
        ),
    ]:
        machine.configure(text)
        machine.refused(rc, *says)
    # Patterns match only volumes that ioband can be inserted into, not parts of a volume or pool.
    guest.run("lvcreate -qq -y --type thin-pool -n pool -L 16M --poolmetadataspare n vg0")
    guest.run("lvcreate -qq -y -n thin -V 8M --thinpool vg0/pool")
    machine.configure("[device two]\ndevice = vg0/two\nas = io-two\n")
    machine.apply()
    machine.configure("[device all]\nvolume = vg0/*\ninsert = yes\npool = p\n")
    planned = {row["device"] for row in machine.json("apply", "--dry-run")}
    assert planned == {"vg0-one", "vg0-thin"}
    said = machine.run("apply")
    assert "vg0-pool" not in said
    assert "ioband device io-two is over /dev/mapper/vg0-two already" in said
    assert machine.json("apply") == []
    for name in ("one", "thin"):
        machine.run("extract", f"vg0/{name}")

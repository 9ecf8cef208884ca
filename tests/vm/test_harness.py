# SPDX-License-Identifier: GPL-2.0-only
"""The laboratory itself: it must report every fault that it is made to report."""

import os
from pathlib import Path

import pytest
from harness.cgroup import Cgroup
from harness.devices import DmDevice, VolumeGroup, linear, mounted, null_blk, ramdisks, scsi_debug
from harness.guest import CommandError, Guest, GuestDied, GuestTimeout
from harness.kernel_log import new_complaints
from harness.leftovers import clean
from harness.load import Load, Stream, fio
from harness.machines import Machines


def test_command_results(guest: Guest) -> None:
    result = guest.run("cat; echo oops >&2; exit 3", input="text", check=False)
    assert (result.rc, result.out, result.err) == (3, "text", "oops\n")
    with pytest.raises(CommandError, match="exit code 1"):
        guest.run(["false"])
    with pytest.raises(GuestTimeout):
        guest.run("sleep 100", timeout=0.5)


def test_background_job(guest: Guest) -> None:
    job = guest.start("sleep 1000")
    assert job.poll() is None
    job.kill()
    assert job.wait(check=False).rc == -9


@pytest.mark.all_kernels
def test_devices(guest: Guest) -> None:
    with null_blk(guest, memory_backed=1) as disk, VolumeGroup(guest, "vg0", [disk]) as group:
        volume = group.create("lv0", 200)
        with linear(guest, "d0", volume) as dev:
            dev.suspend()
            dev.resume()
            assert dev.table().endswith(" 0")
            with mounted(guest, dev.path) as point:
                guest.write(f"{point}/file", "content")
                assert guest.read(f"{point}/file") == "content"
        assert guest.run(["udevadm", "info", volume]).out.count("DM_UDEV_RULES_VSN")


def test_other_disks(guest: Guest) -> None:
    with scsi_debug(guest, size_mib=16) as disk, ramdisks(guest, 2) as rams:
        guest.run(["dd", f"if={disk}", f"of={rams[1]}", "bs=1M", "count=8", "oflag=direct"])


def test_cgroup_holds_the_command(guest: Guest) -> None:
    with Cgroup(guest, "a/b") as group:
        assert group.run("cat /proc/self/cgroup").out.strip() == "0::/a/b"
        job = group.start("sleep 1000")
        assert group.pids == [job.pid]


@pytest.mark.guest(cgroup="v1")
def test_cgroup_v1(guest: Guest) -> None:
    with Cgroup(guest, "a/b") as group:
        assert ":blkio:/a/b" in group.run("cat /proc/self/cgroup").out


def test_leftovers_are_found_and_cleaned(guest: Guest) -> None:
    guest.run(
        "modprobe brd rd_nr=1 && mkdir -p /sys/fs/cgroup/x/y /run/mnt && mount -t tmpfs t /run/mnt"
    )
    DmDevice(guest, "left", "0 64 linear /dev/ram0 0").suspend()
    guest.start("sleep 1000", cgroup="/sys/fs/cgroup/x/y")
    found = clean(guest)
    for text in ("mount /run/mnt", "dm device left", "cgroup /sys/fs/cgroup/x/y"):
        assert text in found
    assert clean(guest) == []


def test_a_warning_is_complained_of_unless_it_is_expected(guest: Guest) -> None:
    """By the check at the end of every test, even if the test has read the log."""
    text = "WARNING: CPU: 0 PID: 1 at x"
    for _ in range(2):
        guest.write("/dev/kmsg", f"{text}\n")
        said = new_complaints(guest)
    assert len(said) == 2
    assert all(line.endswith(f"] {text}") for line in said)
    guest.expect_dmesg("PID: 2 at x")
    assert new_complaints(guest) == said
    guest.expect_dmesg("PID: 1 at x")
    assert new_complaints(guest) == []


@pytest.mark.guest(icount=True)
def test_load_compares_jobs_while_all_run(guest: Guest) -> None:
    with null_blk(guest, irqmode=2, completion_nsec=640_000, hw_queue_depth=1) as disk:
        once = fio(guest, filename=disk, rw="randread", bs="4k", io_size="1m", ioengine="libaio")
        assert once["read"]["total_ios"] == 256
        with Cgroup(guest, "a") as a, Cgroup(guest, "b") as b:
            load = Load(guest, [Stream("a", disk, a, iodepth=16), Stream("b", disk, b, iodepth=16)])
            window = load.run(2).window()
    assert window.ratio("a", "b") == pytest.approx(1, abs=0.03)
    assert window["a"].iops + window["b"].iops == pytest.approx(1e9 / 640_000, rel=0.02)
    usual = window["a"].latency_ms(50)
    assert usual == pytest.approx(32 * 0.64, rel=0.1)
    assert usual <= window["a"].latency_ms(99) < 2 * usual  # a few wait while fio is interrupted


def ticks_by_thread(pid: int) -> dict[str, int]:
    """The processor time of the host that each thread of a process has used, in ticks."""
    stats = {task.name: (task / "stat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()}
    words = {thread: text.rpartition(")")[2].split() for thread, text in stats.items()}
    return {thread: int(word[11]) + int(word[12]) for thread, word in words.items()}


def threads_that_compute(guest: Guest, enough: int = 60) -> int:
    """The number of host threads in which a guest computes while both its processors are busy."""
    spin = ["sh", "-c", "while :; do :; done"]
    jobs = [guest.start(["taskset", "-c", str(cpu), *spin]) for cpu in range(2)]
    before = ticks_by_thread(guest.pid)
    used = [0]
    while max(used) < enough:
        guest.sleep(0.5)
        used = [now - before.get(name, 0) for name, now in ticks_by_thread(guest.pid).items()]
    for job in jobs:
        job.kill()
        job.wait(check=False)
    return sum(each > enough / 3 for each in used)


@pytest.mark.guest(parallel=True)
def test_processors_run_at_once(guest: Guest) -> None:
    assert threads_that_compute(guest) == 2


@pytest.mark.skipif(os.environ.get("IOBAND_ACCEL") == "kvm", reason="KVM knows no turns")
def test_processors_take_turns(guest: Guest) -> None:
    assert guest.run(["nproc"]).out == "2\n"
    assert threads_that_compute(guest) == 1


@pytest.mark.long("a guest dies, and another one boots")
def test_panic_is_told_and_the_next_test_gets_a_new_guest(
    guest: Guest, machines: Machines, kernel_name: str
) -> None:
    guest.expect_death()
    with pytest.raises(GuestDied, match="sysrq triggered crash"):
        guest.write("/proc/sysrq-trigger", "c")
    anew = machines.get(kernel_name, {})
    assert anew is not guest
    assert anew.run(["true"]).rc == 0


@pytest.mark.long("a guest dies, and another one boots")
def test_command_that_cannot_be_killed_ends_the_guest(guest: Guest) -> None:
    with null_blk(guest) as disk:
        linear(guest, "stuck", disk).suspend()
        job = guest.start(["dd", "if=/dev/mapper/stuck", "of=/dev/null", "count=1", "iflag=direct"])
        while "State:\tD" not in guest.read(f"/proc/{job.pid}/status"):
            guest.sleep(0.1)
        guest.expect_death()
        with pytest.raises(GuestDied, match="cannot be killed"):
            job.wait(timeout=1)

# SPDX-License-Identifier: GPL-2.0-only
"""The modelled disks as block devices of a kernel."""

from pathlib import Path

import pytest
from harness.module import REPO
from lab.kernel import LabKernel, get_lab_kernel
from lab.module import build_lab_module
from lab.uml import run_experiment

DISK = REPO / "tests/lab/disk"
SYSFS = "/sys/kernel/lab-disk"
of_the_model = pytest.mark.long("of the modelled disks alone, which change rarely")
HEAD = f"""
set -e
insmod "$1"
create() {{ echo "$*" >{SYSFS}/create; }}
remove() {{ echo "$1" >{SYSFS}/remove; }}
quick_fio() {{
	fio --output=/dev/null --thread --clocksource=clock_gettime --direct=1 "$@"
}}
"""
TAIL = """
rmmod lab_disk
dmesg | grep -E 'WARNING|BUG|Call Trace' && exit 1
exit 0
"""


@pytest.fixture(scope="module")
def kernel() -> LabKernel:
    return get_lab_kernel("virtual-time")


@pytest.fixture(scope="module")
def module(kernel: LabKernel) -> Path:
    (module,) = build_lab_module(kernel, DISK)
    return module


def run(kernel: LabKernel, module: Path, work: Path, script: str) -> str:
    """Run a script on the kernel; returns the contents of the file "out"."""
    work.mkdir(exist_ok=True)
    (work / "script").write_text(HEAD + script + TAIL)
    run_experiment(kernel, work, ["bash", "script", module])
    out = work / "out"
    return out.read_text() if out.exists() else ""


def test_disks_are_made_described_and_removed(
    kernel: LabKernel, module: Path, tmp_path: Path
) -> None:
    out = run(
        kernel,
        module,
        tmp_path,
        """
        create a hdd size_mib=2048 queue_depth=1
        create b sata-ssd block_bytes=4096
        create c nvme host_queue=7
        create d cloud
        for name in a b c d; do
            cd /sys/block/$name
            echo $name $(cat size queue/scheduler queue/rotational queue/write_cache \\
                queue/nr_requests queue/logical_block_size queue/max_hw_sectors_kb) >>/run/lab/out
            test -b /dev/$name
        done
        cat a/lab-disk/parameters c/lab-disk/parameters 2>/dev/null || true
        cat /sys/block/a/lab-disk/parameters >>/run/lab/out
        cd /run/lab
        for wrong in "a hdd" "e floppy" "e" "e hdd rotation_rpm=0" "e hdd speed=1" \\
                "e nvme write_buffer_kib=64" "a/b hdd"; do
            if create $wrong 2>/dev/null; then echo "made: $wrong" >>out; fi
        done
        if remove e 2>/dev/null; then exit 1; fi
        exec 3</dev/a
        if remove a 2>/dev/null; then exit 1; fi
        exec 3<&-
        for name in a b c d; do remove $name; done
        ls /sys/block | grep -E '^[a-e]$' && exit 1
        """,
    )
    lines = out.splitlines()
    none = "[none] mq-deadline kyber bfq"
    assert lines[0] == f"a {2048 * 2048} {none} 1 write back 1 512 1024"
    assert lines[1] == f"b {244198 * 2048} {none} 0 write back 32 4096 1024"
    assert lines[2] == f"c {1525879 * 2048} {none} 0 write through 1031 512 1024"
    assert lines[3] == f"d {102400 * 2048} {none} 0 write through 128 512 256"
    assert "rotation_rpm=7200" in lines and "queue_depth=1" in lines
    assert not [line for line in lines if line.startswith("made")]


FILESYSTEM = """
create disk hdd size_mib=1024 keep_data=1
mkfs.ext4 -q /dev/disk
mkdir /tmp/mnt
mount /dev/disk /tmp/mnt
dd if=/dev/urandom of=/tmp/data bs=1M count=8 status=none
cp /tmp/data /tmp/mnt/data
sync
umount /tmp/mnt
echo 3 >/proc/sys/vm/drop_caches
mount /dev/disk /tmp/mnt
cmp /tmp/data /tmp/mnt/data
umount /tmp/mnt
fsck.ext4 -fn /dev/disk
quick_fio --name=v --filename=/dev/disk --rw=randwrite --bsrange=512-64k --size=64m \\
    --ioengine=libaio --iodepth=16 --verify=crc32c --randrepeat=0
remove disk
"""


@of_the_model
def test_data_is_kept(kernel: LabKernel, module: Path, tmp_path: Path) -> None:
    run(kernel, module, tmp_path, FILESYSTEM)


def test_data_that_is_not_kept_reads_as_zeroes(
    kernel: LabKernel, module: Path, tmp_path: Path
) -> None:
    run(
        kernel,
        module,
        tmp_path,
        """
        create disk nvme
        dd if=/dev/urandom of=/dev/disk bs=1M count=1 oflag=direct status=none
        cmp -n 1048576 /dev/disk /dev/zero
        # The check above can fail: with data kept, it does.
        create kept nvme keep_data=1
        dd if=/dev/urandom of=/dev/kept bs=1M count=1 oflag=direct status=none
        if cmp -s -n 1048576 /dev/kept /dev/zero; then exit 1; fi
        remove disk
        remove kept
        """,
    )


@of_the_model
def test_flushes_reach_a_disk_with_a_write_cache(
    kernel: LabKernel, module: Path, tmp_path: Path
) -> None:
    out = run(
        kernel,
        module,
        tmp_path,
        """
        create on hdd write_cache=1
        create off hdd write_cache=0
        for name in on off; do
            quick_fio --name=w --filename=/dev/$name --rw=randwrite --bs=4k --size=1g \\
                --number_ios=50 --fsync=1
            grep -E 'flushes|writes_to_medium' /sys/block/$name/lab-disk/statistics >>out
            remove $name
        done
        """,
    )
    on_medium, on_flushes, off_medium, off_flushes = (
        int(line.split()[1]) for line in out.splitlines()
    )
    assert on_flushes >= 49 and on_medium == 0
    assert off_flushes == 0 and off_medium == 50


@of_the_model
def test_a_disk_knows_whose_its_time_is(kernel: LabKernel, module: Path, tmp_path: Path) -> None:
    out = run(
        kernel,
        module,
        tmp_path,
        """
        create disk hdd
        cd /sys/fs/cgroup
        echo +io >cgroup.subtree_control
        load() { # CGROUP FIO-OPTIONS
            mkdir $1
            stat -c %i $1 >>/run/lab/out
            (echo $BASHPID >$1/cgroup.procs; cd /run/lab; shift; quick_fio --name=r \\
                --filename=/dev/disk --bs=64k --size=1g --time_based --runtime=2 "$@")
        }
        load seeks --rw=randread
        load streams --rw=read --offset=10g
        cat /sys/block/disk/lab-disk/times >>/run/lab/out
        remove disk
        """,
    )
    lines = [[int(word) for word in line.split()] for line in out.splitlines()]
    seeks_id, streams_id = lines[0][0], lines[1][0]
    owners = {line[0]: line[1:] for line in lines[2:]}
    seeks, streams = owners[seeks_id], owners[streams_id]
    # Random reads keep the arm busy nearly all the time, for little data.
    assert 1.8e9 < seeks[0] < 2.05e9
    assert streams[1] > 8 * seeks[1] and seeks[1] == 65536 * seeks[3]
    assert streams[2] == seeks[2] == 0


@of_the_model
def test_a_disk_repeats_itself(kernel: LabKernel, module: Path, tmp_path: Path) -> None:
    script = """
        for model in hdd sata-ssd nvme cloud; do
            create disk $model
            quick_fio --filename=/dev/disk --time_based --runtime=200ms --size=4g \\
                --ioengine=libaio \\
                --name=a --rw=randrw --bs=4k --iodepth=8 --name=b --rw=write --bs=64k --iodepth=2
            cat /sys/block/disk/stat /sys/block/disk/lab-disk/{statistics,times} >>out
            remove disk
        done
        """
    first, second = (run(kernel, module, tmp_path / name, script) for name in ("first", "second"))
    assert first == second and len(first.splitlines()) > 30

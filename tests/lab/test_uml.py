# SPDX-License-Identifier: GPL-2.0-only
"""The ground that experiments stand on: the same input gives the same result, always."""

import json
from pathlib import Path

import pytest
from harness.module import REPO
from harness.variants import variants
from lab.kernel import LabKernel, get_lab_kernel
from lab.module import build_lab_module
from lab.uml import ExperimentError, run_experiment

# Two readers that compete for a disk: which I/O is served when is decided all the time.
FIO = """
set -e
disk=/sys/kernel/config/nullb/disk
mkdir $disk
echo 1024 >$disk/size
echo 2 >$disk/irqmode
echo 100000 >$disk/completion_nsec
echo 8 >$disk/hw_queue_depth
echo 1 >$disk/power
echo SCHEDULER >/sys/block/disk/queue/scheduler
fio --output-format=json --output=fio.json --thread --clocksource=clock_gettime \\
	--filename=/dev/disk --direct=1 --rw=randread --time_based --runtime=500ms \\
	--ioengine=libaio --iodepth=16 --name=small --bs=4k --name=large --bs=64k
/usr/bin/python3 - <<-EOF
	import json
	jobs = json.load(open("fio.json"))["jobs"]
	keys = ("io_bytes", "total_ios", "clat_ns", "lat_ns")
	result = {job["jobname"]: {key: job["read"][key] for key in keys} for job in jobs}
	json.dump(result, open("result.json", "w"))
EOF
"""

IOBAND = """
set -e
insmod "$1"
echo 1024 | tee $(mkdir -v /sys/kernel/config/nullb/disk | cut -d"'" -f2)/size >/dev/null
echo 1 >/sys/kernel/config/nullb/disk/power
dmsetup create io --table "0 2097152 ioband /dev/disk 0 disk"
dd if=/dev/mapper/io of=/dev/null bs=64k count=100 iflag=direct
dmsetup status io >status
"""


@pytest.fixture(scope="module")
def kernel() -> LabKernel:
    return get_lab_kernel("virtual-time")


def run(kernel: LabKernel, work: Path, script: str, *args: object, **options: float) -> None:
    work.mkdir(exist_ok=True)
    (work / "script").write_text(script)
    run_experiment(kernel, work, ["bash", "script", *map(str, args)], **options)


@pytest.mark.parametrize("scheduler", variants(["none", "bfq", "kyber"], "none"))
def test_a_result_repeats_bit_for_bit(kernel: LabKernel, tmp_path: Path, scheduler: str) -> None:
    texts = []
    for name in ("first", "second"):
        run(kernel, tmp_path / name, FIO.replace("SCHEDULER", scheduler))
        texts.append((tmp_path / name / "result.json").read_bytes())
    assert texts[0] == texts[1]
    result = json.loads(texts[0])
    total = sum(job["total_ios"] for job in result.values())
    # 0.5 s of 8 at a time, 0.1 ms each: virtual time is the disk's and, with BFQ, which leaves it
    # idle now and then, nearly so.
    assert total == pytest.approx(8 * 5_000, rel=0.05 if scheduler == "bfq" else 0.01)


def test_the_loader_looks_in_the_same_places_on_any_processor(
    kernel: LabKernel, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    run(kernel, work, "/lib64/ld-linux-x86-64.so.2 --list-diagnostics >diagnostics")
    found = dict(
        line.split("=", 1)
        for line in (work / "diagnostics").read_text().splitlines()
        if line.startswith(("dl_platform=", "dl_hwcap=", "dl_hwcaps_subdirs_active="))
    )
    # Of the directories for what newer processors can do, only x86-64-v2.
    wanted = {"dl_platform": '"x86_64"', "dl_hwcap": "0x2", "dl_hwcaps_subdirs_active": "0x4"}
    assert found == wanted


def test_ioband_loads_and_makes_a_device(kernel: LabKernel, tmp_path: Path) -> None:
    (module,) = build_lab_module(kernel, REPO / "drivers/md/dm-ioband")
    run(kernel, tmp_path / "work", IOBAND, module)
    assert "ioband" in (tmp_path / "work/status").read_text()


def test_a_command_that_fails_is_an_error(kernel: LabKernel, tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="ended with code 7"):
        run(kernel, tmp_path / "work", "exit 7")


def test_a_panic_is_an_error(kernel: LabKernel, tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"(?s)crashed.*Kernel panic"):
        run(kernel, tmp_path / "work", "echo c >/proc/sysrq-trigger; sleep 60")


def test_what_does_not_end_is_killed(kernel: LabKernel, tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="not done in 5 s"):
        run(kernel, tmp_path / "work", "while :; do :; done", timeout_s=5)

# SPDX-License-Identifier: GPL-2.0-only
"""The load of an experiment, fio; and what moved at the disk meanwhile.

One fio starts all jobs, so that they begin at the same instant of virtual time.
"""

import subprocess
import time
from pathlib import Path
from typing import Any

import stack

TIMES = Path(f"/sys/block/{stack.NAME}/lab-disk/times")
DEFAULTS: dict[str, Any] = {
    "ioengine": "libaio",
    "direct": 1,
    "cgroup_nodelete": 1,
    "clocksource": "clock_gettime",
    "norandommap": True,
    "time_based": True,
    "disable_slat": 1,
    "disable_clat": 1,
    "log_unix_epoch": 1,
    "log_max_value": 0,
}


def _arguments(options: dict[str, Any]) -> list[str]:
    given = {
        key: value for key, value in options.items() if value is not None and value is not False
    }
    return [f"--{key}" if value is True else f"--{key}={value}" for key, value in given.items()]


def job_options(
    job: dict[str, Any], index: int, devices: dict[str, str], directories: dict[str, str]
) -> dict[str, Any]:
    """fio's options for one span of a job."""
    name = f"{job['name']}.{index}"
    start, end = job["active"][index]
    if job["volume"] in directories:
        place = {"filename": f"{directories[job['volume']]}/{job['name']}"}
    else:
        place = {"filename": devices[job["volume"]], "allow_file_create": 0}
    own = {
        "randseed": sum(name.encode()) * 7919,
        "startdelay": f"{round(start * 1e6)}us" if start else None,
        "runtime": f"{round((end - start) * 1e6)}us",
        "write_lat_log": name,
    }
    options = {"name": name} | DEFAULTS | place | own | job["fio"]
    if "number_ios" in job["fio"]:  # a job that ends by itself
        options["time_based"] = None
    return options


def start(
    experiment: dict[str, Any], devices: dict[str, str], directories: dict[str, str]
) -> subprocess.Popen[str]:
    """fio with all jobs, each a process that fio puts into the cgroup of its group."""
    paths = {group["name"]: group["path"].strip("/") for group in experiment["groups"]}
    argv = ["fio", "--output=/dev/null"]  # its summary has times of the host's
    for job in experiment["jobs"]:
        for index in range(len(job["active"])):
            options = job_options(job, index, devices, directories)
            argv += _arguments(options | {"cgroup": paths[job["group"]]})
    return subprocess.Popen(argv, text=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)


def moved(groups: list[dict[str, Any]], device: str) -> tuple[dict[str, int], dict[str, int]]:
    """Bytes that each group has read and written at the disk, by its io.stat."""
    read, written = {}, {}
    for group in groups:
        lines = (stack.cgroup(group) / "io.stat").read_text().splitlines()
        for line in lines:
            words = line.split()
            if words and words[0] == device:
                counts = dict(word.split("=") for word in words[1:] if "=" in word)
                read[group["name"]] = int(counts.get("rbytes", 0))
                written[group["name"]] = int(counts.get("wbytes", 0))
    return read, written


def run(
    experiment: dict[str, Any], disk: str, devices: dict[str, str], directories: dict[str, str]
) -> dict[str, Any]:
    """Run all jobs to their ends; the logs lie in the working directory then."""
    groups = experiment["groups"]
    device = stack.number(disk)
    origin = time.time()
    process = start(experiment, devices, directories)
    samples = []
    if experiment["sample_ms"]:
        for index in range(int(experiment["seconds"] * 1000 / experiment["sample_ms"]) + 1):
            at_s = index * experiment["sample_ms"] / 1000
            time.sleep(max(0.0, origin + at_s - time.time()))
            read, written = moved(groups, device)
            samples.append({"at_s": at_s, "read": read, "written": written})
    errors = process.communicate()[1]
    if process.returncode:
        raise RuntimeError(f"fio: exit code {process.returncode}: {errors.strip()}")
    return {"origin_ms": round(origin * 1000), "samples": samples, "device_s": device_times(groups)}


def device_times(groups: list[dict[str, Any]]) -> dict[str, float] | None:
    """The disk's time by group, if the model counts it: lines of "cgroup-id busy_ns ..."."""
    if not TIMES.exists():
        return None
    lines = [line.split() for line in TIMES.read_text().splitlines()]
    by_id = {int(words[0]): int(words[1]) / 1e9 for words in lines if words[0].isdigit()}
    return {group["name"]: by_id.get(stack.cgroup(group).stat().st_ino, 0.0) for group in groups}

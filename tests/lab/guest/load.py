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
    argv = ["fio", "--output=/dev/null", "--eta=never"]  # its summary has times of the host's
    for job in experiment["jobs"]:
        for index in range(len(job["active"])):
            options = job_options(job, index, devices, directories)
            argv += _arguments(options | {"cgroup": paths[job["group"]]})
    return subprocess.Popen(argv, text=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)


def at_disk(groups: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Busy seconds, bytes read and bytes written of each group, as the modelled disk counts them.

    It prints lines of "cgroup-id busy_ns bytes_read bytes_written ios", counted at completion.
    """
    lines = [line.split() for line in TIMES.read_text().splitlines()]
    by_id = {int(w[0]): [int(w[1]) / 1e9, int(w[2]), int(w[3])] for w in lines if w[0].isdigit()}
    return {
        group["name"]: by_id.get(stack.cgroup(group).stat().st_ino, [0.0, 0, 0]) for group in groups
    }


def run(
    experiment: dict[str, Any], devices: dict[str, str], directories: dict[str, str]
) -> dict[str, Any]:
    """Run all jobs to their ends; the logs lie in the working directory then."""
    groups = experiment["groups"]
    origin = time.time()
    process = start(experiment, devices, directories)
    samples = []
    if experiment["sample_ms"]:
        for index in range(int(experiment["seconds"] * 1000 / experiment["sample_ms"]) + 1):
            at_s = index * experiment["sample_ms"] / 1000
            time.sleep(max(0.0, origin + at_s - time.time()))
            samples.append({"at_s": at_s, "disk": at_disk(groups)})
    errors = process.communicate()[1]
    if process.returncode:
        raise RuntimeError(f"fio: exit code {process.returncode}: {errors.strip()}")
    return {"origin_ms": round(origin * 1000), "samples": samples}

# SPDX-License-Identifier: GPL-2.0-only
"""Comparison of the modelled disks with published measurements: python3 -m lab.calibration.

Runs real fio on the models in the virtual-time kernel, as calibration.toml says,
and prints each figure of the sources beside that of the model.
"""

import json
import shlex
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.cache import progress
from harness.module import REPO

from .kernel import LabKernel, get_lab_kernel
from .module import build_lab_module
from .uml import run_experiment

TABLE = REPO / "tests/lab/calibration.toml"
TOLERANCE = 0.15
TIMEOUT_S = 900
MEMORY_MIB = 1024  # data of a file system is in the guest's memory
WIDTH = 88
FIO = (
    "fio --output-format=json --thread --clocksource=clock_gettime --direct=1 --time_based"
    " --fallocate=none"
)
MOUNT_POINT = "/tmp/disk"
# The UUID that mkfs chooses would differ each time.
UUID = "6a0f6d0e-5d4c-4b3a-9281-706f5e4d3c2b"


@dataclass(frozen=True)
class Jobs:
    """Several equal jobs of fio."""

    name: str
    options: str
    count: int = 1
    region_gib: int = 0  # of each; 0 is the whole disk for all

    def files(self) -> list[str]:
        """The file of each job, on a file system."""
        return [f"{MOUNT_POINT}/{self.name}-{i}" for i in range(self.count)]

    def words(self, on_files: bool) -> Iterator[str]:
        """The options of all jobs."""
        for i, file in enumerate(self.files()):
            yield f"--name={self.name} {self.options}"
            if on_files:
                yield f"--filename={file} --size={self.region_gib}g"
                continue
            yield "--filename=/dev/disk"
            if self.region_gib:
                # 5 has no factor in common with 2, 4, 8 and 16, so all places differ.
                place = i * 5 % self.count * self.region_gib
                yield f"--offset={place}g --size={self.region_gib}g"


@dataclass(frozen=True)
class FileSystem:
    """Options to make and mount an ext file system."""

    make: str
    mount: str
    settings: dict[str, int] = field(default_factory=dict)  # files in /sys/fs/ext4/disk

    def mounted(self) -> str:
        """The commands that make and mount it in the guest."""
        extended = f"lazy_itable_init=0,lazy_journal_init=0,nodiscard,hash_seed={UUID}"
        lines = [
            f"{self.make} -q -F -U {UUID} -E {extended} /dev/disk",
            f"mkdir -p {MOUNT_POINT}",
            f"{self.mount} /dev/disk {MOUNT_POINT}",
            *(f"echo {value} >/sys/fs/ext4/disk/{key}" for key, value in self.settings.items()),
        ]
        return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True)
class Run:
    """One run of fio on one disk."""

    name: str
    model: str
    jobs: list[Jobs]
    seconds: float
    settle: float = 0
    parameters: dict[str, int] = field(default_factory=dict)
    file_system: FileSystem | None = None
    scheduler: dict[str, str | int] = field(default_factory=dict)  # its name, and its settings

    def script(self) -> str:
        """The commands of the guest."""
        parameters = self.parameters | ({"keep_data": 1} if self.file_system else {})
        disk = " ".join([self.model, *(f"{key}={value}" for key, value in parameters.items())])
        on_files = self.file_system is not None
        jobs = " ".join(word for jobs in self.jobs for word in jobs.words(on_files))
        times = f"--runtime={self.seconds * 1000:.0f}ms --ramp_time={self.settle * 1000:.0f}ms"
        before, after = self._around()
        return (
            f"echo disk {disk} >/sys/kernel/lab-disk/create\n"
            f"{self._scheduled()}"
            f"{before}"
            f"{FIO} {times} --output={shlex.quote(self.name)}.json {jobs}\n"
            f"{after}"
            "echo disk >/sys/kernel/lab-disk/remove\n"
        )

    def _scheduled(self) -> str:
        """The commands that set the scheduler; the default is none."""
        queue = "/sys/block/disk/queue"
        return "".join(
            f"echo {value} >{queue}/{'scheduler' if key == 'name' else f'iosched/{key}'}\n"
            for key, value in self.scheduler.items()
        )

    def _around(self) -> tuple[str, str]:
        """The commands before and after fio, for the file system and its sparse files."""
        if not self.file_system:
            return "", ""
        files = "".join(
            f"truncate -s {jobs.region_gib}g {' '.join(jobs.files())}\n" for jobs in self.jobs
        )
        return f"{self.file_system.mounted()}{files}sync\n", f"umount {MOUNT_POINT}\n"


@dataclass(frozen=True)
class Row:
    """A figure of a source, and the figure of a run to compare with it."""

    source: str
    run: str
    measure: str
    figure: float
    unit: str
    what: str
    why_not: str = ""


@dataclass(frozen=True)
class Source:
    """A publication, and the disk measured there."""

    cite: str
    disk: str


@dataclass(frozen=True)
class Calibration:
    """The table."""

    sources: dict[str, Source]
    runs: dict[str, Run]
    rows: list[Row]


@dataclass(frozen=True)
class Comparison:
    """A row with the figure of the model."""

    row: Row
    model: float

    @property
    def off(self) -> float:
        """The model's difference, as a part of the source's figure."""
        return self.model / self.row.figure - 1

    @property
    def holds(self) -> bool:
        """Whether the model is within the tolerance, or need not be."""
        return bool(self.row.why_not) or abs(self.off) <= TOLERANCE


def load(path: Path = TABLE) -> Calibration:
    """Read the table, and check its references."""
    document = tomllib.loads(path.read_text())
    systems = {name: FileSystem(**made) for name, made in document["file_system"].items()}
    runs = {}
    for name, run in document["run"].items():
        jobs = [Jobs(**jobs) for jobs in run.pop("jobs")]
        if system := run.get("file_system"):
            run["file_system"] = systems[system]
            if not all(job.region_gib for job in jobs):
                raise ValueError(f"{path}: '{name}' has files of no size")
        runs[name] = Run(name=name, jobs=jobs, **run)
    rows = [Row(**row) for row in document["row"]]
    sources = {name: Source(**source) for name, source in document["source"].items()}
    for row in rows:
        if row.run not in runs or row.source not in sources:
            raise ValueError(f"{path}: '{row.what}' names a run or source that is not there")
    return Calibration(sources, runs, rows)


def _run(kernel: LabKernel, module: Path, runs: list[Run], work: Path) -> dict[str, Any]:
    """Run all runs in one guest, one after the other; returns the output of fio for each."""
    work.mkdir()
    scripts = "".join(run.script() for run in runs)
    (work / "script").write_text(f"set -e\ninsmod {shlex.quote(str(module))}\n{scripts}")
    run_experiment(kernel, work, ["bash", "script"], timeout_s=TIMEOUT_S, memory_mib=MEMORY_MIB)
    return {run.name: json.loads((work / f"{run.name}.json").read_text()) for run in runs}


def measure(result: dict[str, Any], words: str) -> float:
    """One figure of fio's output: "JOB read|write kib_s|mb_s|iops|lat_ms"."""
    name, direction, quantity = words.split()
    jobs = [job[direction] for job in result["jobs"] if job["jobname"] == name]
    # As fio does for a group of jobs: rates of jobs with different ends do not add up.
    bytes_s = sum(job["io_bytes"] for job in jobs) / max(job["runtime"] for job in jobs) * 1000
    ios = sum(job["total_ios"] for job in jobs)
    return {
        "kib_s": bytes_s / 1024,
        "mb_s": bytes_s / 1e6,
        "iops": sum(job["iops"] for job in jobs) / len(jobs),
        "lat_ms": sum(job["lat_ns"]["mean"] * job["total_ios"] for job in jobs) / ios / 1e6,
    }[quantity]


def calibrate(table: Calibration, only: str = "") -> list[Comparison]:
    """Run the runs of the rows (of one source, if named) and compare."""
    rows = [row for row in table.rows if only in ("", row.source)]
    kernel = get_lab_kernel("virtual-time")
    (module,) = build_lab_module(kernel, REPO / "tests/lab/disk")
    # Runs that write to file systems take long, and have a guest of their own.
    wanted: dict[tuple[str, bool], dict[str, Run]] = {}
    for row in rows:
        run = table.runs[row.run]
        wanted.setdefault((row.source, run.file_system is not None), {})[row.run] = run
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="calibration-") as name, ThreadPoolExecutor(2) as pool:
        guests = [
            pool.submit(_run, kernel, module, list(runs.values()), Path(name) / str(number))
            for number, runs in enumerate(wanted.values())
        ]
        for guest in guests:
            results |= guest.result()
    return [Comparison(row, measure(results[row.run], row.measure)) for row in rows]


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def _wrapped(words: str, indent: str) -> list[str]:
    return textwrap.wrap(words, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")


def _line(own: Comparison) -> str:
    row = own.row
    note = "not compared" if row.why_not else "" if own.holds else "TOO FAR"
    return (
        f"  {row.what:<44} {_number(row.figure):>7} {_number(own.model):>7} {row.unit:<6}"
        f" {own.off:>+7.1%}  {note}".rstrip()
    )


def text(table: Calibration, comparisons: list[Comparison]) -> str:
    """The comparison as text."""
    lines = []
    for name, source in table.sources.items():
        mine = [own for own in comparisons if own.row.source == name]
        if not mine:
            continue
        lines += [*_wrapped(source.cite, ""), *_wrapped(source.disk, "  "), ""]
        lines.append(f"  {'':<44} {'source':>7} {'model':>7} {'':<6} {'off':>7}")
        lines += [_line(own) for own in mine] + [""]
        reasons = [own.row for own in mine if own.row.why_not]
        for row in reasons:
            lines += _wrapped(f"{row.what}: {row.why_not}", "  ")
        lines += [""] * bool(reasons)
    held = [own for own in comparisons if not own.row.why_not]
    near = sum(own.holds for own in held)
    lines.append(
        f"{near} of {len(held)} figures that are compared are within {TOLERANCE:.0%} of their "
        f"source; {len(comparisons) - len(held)} are not compared."
    )
    return "\n".join(lines)


def main() -> None:
    """Print model against source, row by row; fails if a row is too far off."""
    table = load()
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    if only not in ("", *table.sources):
        sys.exit(f"the sources are {', '.join(table.sources)}")
    progress("calibration: fio on the modelled disks, some minutes")
    comparisons = calibrate(table, only)
    print(text(table, comparisons))
    sys.exit(not all(own.holds for own in comparisons))


if __name__ == "__main__":
    main()

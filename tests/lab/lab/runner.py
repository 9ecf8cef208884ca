# SPDX-License-Identifier: GPL-2.0-only
"""From scenarios to experiments, and from experiments to observations.

An experiment is one variant of a scenario under one peer, on the bare disk or on
a linear volume.  Its key is a hash of its description, the kernel, the modules, the
guest's code and fio, which decide its outcome.  An outcome in the cache under this key
is not made again.
"""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

from harness.cache import cache_dir, progress, prune
from harness.module import REPO

from .kernel import LabKernel, get_lab_kernel
from .module import build_lab_module
from .scenario import IDLE_DEVICE, PLAIN_POOL, Disk, Group, Job, Run, Scenario, Setting
from .traces import Observation, observe
from .uml import ExperimentError, for_guests, run_experiment

COMMAND = ["/usr/bin/python3", "/run/tests/lab/guest/experiment.py"]
MEMORY_MIB = 1024
# Settings of a group that a peer reads; other settings do not affect its outcome.
READ_BY: dict[str, tuple[str, ...]] = {
    "none": (),
    "mq-deadline": (),
    "kyber": (),
    "bfq": ("weight",),
    "bfq-2048": ("weight",),
    "bfq-low-latency": ("weight",),
    "io.cost": ("weight",),
    "io.cost-100": ("weight",),
    "io.cost-auto": ("weight",),
    "io.cost-latency": ("weight", "latency_ms"),
    "io.latency": ("latency_ms",),
    "io.max": ("max_mibps",),
    "io.prio": ("prio_class",),
    "ioband": ("weight", "min_mibps", "max_mibps"),
}
BY_COST = ("io.cost", "io.cost-100", "io.cost-auto", "io.cost-latency")  # with a model of the disk
TIMEOUT_S = 3600

# io.cost's model is measured as by the kernel's tools/cgroup/iocost_coef_gen.py: six loads, no
# merges, no scheduler.  The tool takes 120 s for each; a model is deterministic, so less suffices.
# The first half does not count, as the disk's write cache fills.  Small sequential blocks are also
# tried one at a time: the modelled 7200-rpm disk, which reorders its queue, then reads more.
COEFFICIENTS = (
    ("rbps", "read", "128m", 1),
    ("rseqiops", "read", "4k", 64),
    ("rseqiops", "read", "4k", 1),
    ("rrandiops", "randread", "4k", 64),
    ("wbps", "write", "128m", 1),
    ("wseqiops", "write", "4k", 64),
    ("wseqiops", "write", "4k", 1),
    ("wrandiops", "randwrite", "4k", 64),
)
COEFFICIENT_S = {"hdd": 12.0, "sata-ssd": 1.5, "nvme": 0.6, "cloud": 1.5}
SMALL_PART = 0.3  # of that time for loads of small blocks, which take many more I/Os


@dataclass(frozen=True)
class Experiment:
    """The work of one boot of the guest."""

    scenario: str
    setting: Setting
    peer: str
    on_lv: bool
    alone: str  # the only group or job that takes part, or "" for all
    seconds: float
    settle: float
    sample_ms: int
    queue: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """Its name in messages."""
        words = [self.scenario, self.setting.variant, self.peer]
        words += ["on a volume"] * self.on_lv + [f"only {self.alone}"] * bool(self.alone)
        return " ".join(word for word in words if word)

    def _group(self, group: Group) -> dict[str, Any]:
        """A group for the guest, without the settings that the peer does not read."""
        plain = vars(Group(group.name, group.path, 100, 0, 0, 0, ""))
        return plain | {key: vars(group)[key] for key in READ_BY[self.peer]}

    def document(self) -> dict[str, Any]:
        """The document for the guest, without the modules and figures that are measured first."""
        setting = self.setting
        return {
            "disk": {"model": setting.disk.model, "parameters": setting.disk.parameters},
            "queue": dict(self.queue),
            "volumes": [vars(volume) for volume in setting.volumes],
            "groups": [self._group(group) for group in setting.groups],
            "jobs": [vars(job) for job in setting.jobs],
            "peer": self.peer,
            "on_lv": self.on_lv,
            **(vars(setting.pool) if self.peer == "ioband" else {"measure": ""}),
            "seconds": self.seconds,
            "sample_ms": self.sample_ms,
            "memory_mib": MEMORY_MIB,
        }


@dataclass
class Environment:
    """The environment of experiments; made once, when the first one has to run."""

    kernel: LabKernel
    disk: Path
    ioband: Path
    fio: str
    guest: str

    def modules(self, peer: str) -> list[Path]:
        """The modules that an experiment loads."""
        return [self.disk, self.ioband] if peer == "ioband" else [self.disk]

    def key(self, document: dict[str, Any]) -> str:
        """The hash of everything that decides an outcome."""
        modules = [path.read_bytes() for path in self.modules(document["peer"])]
        digest = hashlib.sha256()
        for part in (json.dumps(document, sort_keys=True), self.fio, self.guest):
            digest.update(part.encode() + b"\0")
        digest.update(self.kernel.build.name.encode())
        for module in modules:
            digest.update(hashlib.sha256(module).digest())
        return digest.hexdigest()[:24]


def make_environment() -> Environment:
    """Build the missing parts: the kernel, the modelled disks, the module."""
    kernel = get_lab_kernel("virtual-time")
    fio = subprocess.run(["fio", "--version"], check=True, capture_output=True, text=True).stdout
    guest = hashlib.sha256()
    for path in for_guests():
        guest.update(path.read_bytes())
    return Environment(
        kernel=kernel,
        disk=build_lab_module(kernel, REPO / "tests/lab/disk")[0],
        ioband=build_lab_module(kernel, REPO / "drivers/md/dm-ioband")[0],
        fio=fio.strip(),
        guest=guest.hexdigest(),
    )


def clip(setting: Setting, seconds: float) -> Setting:
    """A setting clipped to a shorter run: jobs end with it, or are left out if they begin later."""
    jobs = []
    for job in setting.jobs:
        spans = tuple((a, min(b, seconds)) for a, b in job.active if a < seconds)
        if spans:
            jobs.append(replace(job, active=spans))
    return replace(setting, jobs=tuple(jobs))


def only(setting: Setting, subject: str) -> Setting:
    """A setting with the jobs of one group or job, and no variant, as several may have the same."""
    jobs = tuple(setting.members(subject))
    groups = tuple(group for group in setting.groups if group.name in {job.group for job in jobs})
    groups = tuple(replace(group, weight=100) for group in groups)
    return replace(setting, variant="", pool=PLAIN_POOL, groups=groups, jobs=jobs)


def experiment(
    scenario: Scenario, run: Run, variant: str, peer: str, on_lv: bool = False, alone: str = ""
) -> Experiment:
    """One experiment of a scenario."""
    seconds = run.length(variant)
    setting = clip(scenario.settings[variant], seconds)
    if alone:
        setting = only(setting, alone)
        others = (
            only(clip(scenario.settings[name], run.length(name)), alone) for name in run.variants
        )
        if any(other != setting for other in others):
            setting = replace(setting, variant=variant)
    return Experiment(
        scenario=scenario.name,
        setting=setting,
        peer=peer,
        on_lv=on_lv,
        alone=alone,
        seconds=seconds,
        settle=run.settled(variant),
        sample_ms=run.sample_ms,
    )


def expand(scenario: Scenario, run: Run, quick: bool = False) -> list[Experiment]:
    """All experiments of a run: its peers, and the references of its (quick) goals."""
    found: dict[tuple[str, str, bool, str], None] = {}
    for variant in run.variants:
        for peer in run.peers:
            found[variant, peer, False, ""] = None
            if peer in run.on_lv and variant in run.on_lv_variants:
                found[variant, peer, True, ""] = None
        for goal in scenario.goals:
            wanted = goal.peer in run.peers and variant in goal.variants
            if not wanted or (quick and not goal.quick):
                continue
            if goal.relative_to == IDLE_DEVICE:
                found[variant, "none", False, goal.base[0]] = None
            elif goal.relative_to:
                found[variant, goal.relative_to, False, ""] = None
                both = {goal.peer, goal.relative_to} <= set(run.on_lv)
                if both and variant in run.on_lv_variants:
                    found[variant, goal.relative_to, True, ""] = None
    experiments: list[Experiment] = []
    for parts in found:
        one = experiment(scenario, run, *parts)
        if one not in experiments:  # an experiment common to several variants
            experiments.append(one)
    return experiments


def measured(disk: Disk) -> Disk:
    """The disk on which io.cost's model of a disk is measured; keep_data does not matter."""
    parameters = {key: value for key, value in disk.parameters.items() if key != "keep_data"}
    return Disk(disk.model, parameters)


def calibration(disk: Disk) -> Experiment:
    """The experiment that measures io.cost's model of a disk."""
    length = COEFFICIENT_S.get(disk.model, 2.0)
    jobs = []
    for index, (_, rw, bs, depth) in enumerate(COEFFICIENTS):
        start = index * (length + 2)  # I/O in flight or cached ends before the next load
        end = start + (length * SMALL_PART if bs == "4k" else length)
        options = {"rw": rw, "bs": bs, "iodepth": depth}
        jobs.append(Job(f"load{index}", "all", "", ((start, end),), options))
    group = Group("all", "/all", 100, 0, 0, 0, "")
    setting = Setting("", disk, PLAIN_POOL, (), (group,), tuple(jobs))
    seconds = len(jobs) * (length + 2)
    queue = (("nomerges", "1"),)
    return Experiment("io.cost", setting, "none", False, "", seconds, 0, 0, queue)


def cost_model(obs: Observation) -> dict[str, int]:
    """io.cost's coefficients from that experiment, by the second half of each load."""
    model: dict[str, int] = {}
    for index, (name, _, bs, _) in enumerate(COEFFICIENTS):
        trace = obs.trace(f"load{index}")
        start, end = trace.span[0], float(trace.at_s.max())
        half = trace.at_s[trace.at_s <= (start + end) / 2].max(initial=start)  # an I/O's end
        later = float(trace.bytes[trace.at_s > half].sum())
        rate = later / (end - half) / (4096 if bs == "4k" else 1)
        model[name] = max(model.get(name, 0), round(rate))
    return model


def disk_key(disk: Disk) -> str:
    """A disk as a string."""
    return json.dumps(vars(disk), sort_keys=True)


@dataclass
class Outcome:
    """An experiment, with its observation or an error."""

    experiment: Experiment
    directory: Path | None = None
    problem: str = ""

    def observation(self) -> Observation:
        """The observation."""
        if not self.directory:
            raise ExperimentError(self.problem)
        own = self.experiment
        return observe(self.directory, own.setting, own.seconds, own.settle)


@dataclass
class Runner:
    """Runs experiments, as many at a time as there are processors, and remembers them."""

    environment: Environment
    anew: bool = False
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    execute: Callable[..., None] = run_experiment
    _models: dict[str, dict[str, int]] = field(default_factory=dict)
    _made: set[str] = field(default_factory=set)
    _locks: dict[str, Lock] = field(default_factory=dict)

    def run(self, experiments: list[Experiment]) -> Iterator[Outcome]:
        """The outcomes, in order of completion."""
        disks = [measured(each.setting.disk) for each in experiments if each.peer in BY_COST]
        missing = {disk_key(disk): disk for disk in disks if disk_key(disk) not in self._models}
        for outcome in self._all([calibration(disk) for disk in missing.values()]):
            if outcome.directory:
                key = disk_key(outcome.experiment.setting.disk)
                self._models[key] = cost_model(outcome.observation())
            else:
                yield outcome
        yield from self._all(experiments)

    def _all(self, experiments: list[Experiment]) -> Iterator[Outcome]:
        started, done = time.monotonic(), 0
        pool = ThreadPoolExecutor(self.workers)
        try:
            running = [pool.submit(self.one, each) for each in experiments]
            for future in as_completed(running):
                outcome, cached = future.result()
                done += 1
                spent = time.monotonic() - started
                state = outcome.problem.partition("\n")[0] or ("cached" if cached else "done")
                count = f"{done}/{len(experiments)}"
                progress(f"lab: {count} in {spent:.0f} s: {outcome.experiment.label}: {state}")
                yield outcome
        finally:  # after an error or an interrupt, do not wait for all others
            pool.shutdown(cancel_futures=True)

    def one(self, each: Experiment) -> tuple[Outcome, bool]:
        """The outcome of one experiment, and whether it was in the cache."""
        document = each.document()
        if each.peer in BY_COST:
            model = self._models.get(disk_key(measured(each.setting.disk)))
            if not model:
                return Outcome(each, problem="there is no cost model of this disk"), False
            document["io_cost_model"] = model
        key = self.environment.key(document)
        with self._locks.setdefault(key, Lock()):  # several scenarios may need it at once
            return self._once(each, document, key)

    def _once(self, each: Experiment, document: dict[str, Any], key: str) -> tuple[Outcome, bool]:
        store = cache_dir("lab", "results")
        final = store / key
        if final.is_dir() and (not self.anew or key in self._made):
            os.utime(final)
            return Outcome(each, final), True
        work = store / f"unfinished-{key}-{os.getpid()}"
        try:
            self.make(document, work)
        except BaseException as err:
            shutil.rmtree(work, ignore_errors=True)
            if not isinstance(err, ExperimentError | OSError):
                raise
            return Outcome(each, problem=str(err).replace(work.name, each.label)), False
        shutil.rmtree(final, ignore_errors=True)
        work.rename(final)
        self._made.add(key)
        return Outcome(each, final), False

    def make(self, document: dict[str, Any], work: Path) -> None:
        """Run an experiment in a directory, and leave its results there."""
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        modules = [
            shutil.copyfile(path, work / path.name)
            for path in self.environment.modules(document["peer"])
        ]
        names = [f"./{path.name}" for path in modules]
        text = json.dumps(document | {"modules": names}, indent=1, sort_keys=True)
        (work / "experiment.json").write_text(text + "\n")
        self.execute(
            self.environment.kernel, work, COMMAND, timeout_s=TIMEOUT_S, memory_mib=MEMORY_MIB
        )
        for module in modules:
            module.unlink()
        for log in work.glob("*.log"):
            if "_lat." in log.name:
                with open(log, "rb") as source, gzip.GzipFile(f"{log}.gz", "wb", 3, mtime=0) as out:
                    shutil.copyfileobj(source, out)
                log.unlink()


def forget_old() -> None:
    """Remove outcomes that were not used for a day."""
    prune(cache_dir("lab", "results"))

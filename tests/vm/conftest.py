# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures of the tests in virtual machines.

A test that takes `guest` runs in a stock kernel: that of the machine's Debian release,
the newest one with @pytest.mark.newest, or each of the three with
@pytest.mark.all_kernels.  IOBAND_KERNEL in the environment selects another kernel,
also one of the laboratory: "debug" has the kernel's own detectors, "rt" has PREEMPT_RT and some
of them.
@pytest.mark.guest(icount=True, cgroup="v1", ...) asks for another machine (see
harness.guest.Guest for the options).  A few machines are kept; a machine that died or
could not be cleaned is booted anew.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.cache import progress
from harness.detectors import leaks, lockdep_is_off
from harness.guest import Guest, GuestError
from harness.hotplug import Machine, installed
from harness.kernel_log import new_complaints
from harness.kernels import REALTIME, SUITES, get_kernel, own_kernel_name
from harness.leftovers import clean
from harness.machine import UnsupportedError
from harness.machines import Machines
from harness.module import build_module
from harness.tool import Tool, build_tool, udev_is_done
from lab.kernel import VARIANTS, WITH_DETECTORS
from lab.machine import boot

collect_ignore = []
# For the kernels with detectors alone.
if os.environ.get("IOBAND_KERNEL") not in WITH_DETECTORS:
    collect_ignore += ["test_detectors.py"]
if os.environ.get("IOBAND_KERNEL") != "debug":
    collect_ignore += ["test_nomem.py", "test_lab_disk.py"]
# For the kernels of the laboratory: those of Debian have no io.latency.
if os.environ.get("IOBAND_KERNEL") not in VARIANTS:
    collect_ignore += ["test_io_latency.py"]

UNFINISHED = pytest.StashKey[bool]()  # the test failed, or was skipped in the middle
# Debian's kernel zeroes all memory that it allocates, moves the stack at each system call, and
# asks AppArmor and audit at each open: a third of the time of a short command.  make bench and
# make demo measure with Debian's settings.
FRUGAL = "init_on_alloc=0 randomize_kstack_offset=off apparmor=0 audit=0"


@pytest.fixture(scope="session")
def machines() -> Iterator[Machines]:
    """All guests of the session."""
    guests = Machines(_boot, _retire)
    yield guests
    if wrong := guests.close():
        pytest.fail("\n".join(wrong), pytrace=False)


def _boot(name: str, options: dict[str, Any]) -> Guest:
    if name in VARIANTS:
        guest = boot(name, **options)
    else:
        cmdline = f"{FRUGAL} {options.get('cmdline', '')}"
        guest = Guest(get_kernel(name), **options | {"cmdline": cmdline})
    if lockdep_is_off(guest):
        guest.close()
        raise GuestError(f"{name}: lockdep is off, since something was reported at boot")
    return guest


def _retire(guest: Guest) -> str:
    """The memory that the tests leaked in a guest, if its kernel can tell."""
    text = leaks(guest)
    return text and f"{guest.kernel.release}, {guest.options}: memory leaked:\n{text}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests marked all_kernels or smoke run once per kernel.

    An all_kernels test on a kernel other than the machine's own Debian's is long, and so are both
    kinds on kernels with PREEMPT_RT.  The smoke tests on another kernel share one guest.
    """
    if "kernel_name" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker
    own = own_kernel_name()
    others = [name for name in SUITES if name != own]
    long = pytest.mark.long("the full matrix of kernels")
    parallel = pytest.mark.guest(parallel=True)
    if wanted := os.environ.get("IOBAND_KERNEL"):
        names: list[Any] = [wanted]
    elif marker("newest"):
        names = ["newest"]
    elif marker("all_kernels"):
        names = [own, *(pytest.param(name, marks=long) for name in [*others, *REALTIME])]
    elif marker("smoke"):
        names = [own, *(pytest.param(name, marks=parallel) for name in others)]
        names += [pytest.param(name, marks=[parallel, long]) for name in REALTIME]
    else:
        names = [own]
    metafunc.parametrize("kernel_name", names, scope="session")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Note for the fixtures whether the test itself failed.

    A kernel of the laboratory may lack features of the stock kernels.
    """
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, UnsupportedError) and os.environ.get("IOBAND_KERNEL") in VARIANTS:
        skipped = pytest.CallInfo.from_call(lambda: pytest.skip(str(error)), call.when)
        call.excinfo = skipped.excinfo
    outcome = yield
    report = outcome.get_result()
    if report.when in ("setup", "call"):
        item.stash[UNFINISHED] = not report.passed


@pytest.fixture
def guest(request: pytest.FixtureRequest, machines: Machines, kernel_name: str) -> Iterator[Guest]:
    """A running guest, clean as after its boot; checked and cleaned afterwards."""
    marker = request.node.get_closest_marker("guest")
    if kernel_name in WITH_DETECTORS and request.node.get_closest_marker("brisk"):
        pytest.skip("the detectors make the guest too slow for this")
    options = dict(marker.kwargs) if marker else {}
    if kernel_name in VARIANTS:  # its processors are fixed
        options.pop("parallel", None)
        if request.node.get_closest_marker("idles"):
            options.pop("icount", None)
    try:
        machine = machines.get(kernel_name, options)
    except UnsupportedError as err:
        pytest.skip(f"{kernel_name}: {err}")
    machine.expected.clear()
    machine.request("kmsg", text=f"test {request.node.name}")
    machine.dmesg()
    machine.said.clear()
    yield machine
    if not machine.alive:
        machines.drop(machine)
        if not machine.death_expected:
            pytest.fail("the guest died", pytrace=False)
        return
    unfinished = request.node.stash.get(UNFINISHED, False)
    # Data of an unfinished test, on disks or in the firmware, would reach the next test.
    lasts = unfinished and (machine.got_disks or machine.options.secure_boot)
    try:
        left = [] if lasts else clean(machine)
        bad = new_complaints(machine)
        reusable = not (bad or lasts or (left and clean(machine)) or lockdep_is_off(machine))
    except BaseException:
        machines.drop(machine)
        raise
    if not reusable:
        machines.drop(machine)
    problems = [f"kernel: {text}" for text in bad]
    if not unfinished:  # else it could not clean up
        problems += [f"left behind: {text}" for text in left]
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@pytest.fixture(scope="session")
def built() -> dict[str, Path]:
    """Modules built in this session, by kernel release."""
    return {}


@pytest.fixture
def ioband(guest: Guest, built: dict[str, Path]) -> Guest:
    """The guest with dm-ioband loaded."""
    release = guest.kernel.release
    if release not in built:
        progress(f"building the module for {release}")
        built[release] = build_module(guest.kernel)[0]
    guest.insmod(built[release])
    return guest


@pytest.fixture(scope="session")
def iobandctl() -> Path:
    """The path of iobandctl, the same on the host and in the guest."""
    return build_tool()


@pytest.fixture
def tool(ioband: Guest, iobandctl: Path) -> Tool:
    """iobandctl in a guest with the module loaded."""
    return Tool(ioband, str(iobandctl))


@pytest.fixture
def udev_done(ioband: Guest) -> Iterator[None]:
    """Assert at the end that udev has no unfinished work."""
    yield
    if ioband.alive:
        assert udev_is_done(ioband)


@pytest.fixture
def machine(ioband: Guest, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine that wraps a disk, which is not plugged in yet."""
    with installed(ioband, getattr(request, "param", "device_add")) as machine:
        yield machine

# SPDX-License-Identifier: GPL-2.0-only
"""What concerns a run as a whole: the order of its tests, and the table of its times."""

from collections import defaultdict
from typing import TYPE_CHECKING

import parts
import pytest
from _pytest.terminal import TerminalReporter
from harness.kernels import own_kernel_name

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadGroupScheduling

# The directories of the tests that need no guest and no other kernel's headers.
FAST = ("tests", "unit", "iobandctl", "node")
# What tests want said at the end of the run, as record_property("summary", text).
SUMMARIES: dict[str, str] = {}
# Seconds that tests took of a process, by the kind of guest or the directory.
TIMES: dict[str, float] = defaultdict(float)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the tiers; without one, all tests that are named run."""
    parser.addoption("--tier", choices=("fast", "usual", "all"), default="all")


def _is_fast(item: pytest.Item) -> bool:
    """Whether test-fast runs a test: without a guest, or a smoke test on this Debian's kernel.

    Not one that waits for long.
    """
    params = item.callspec.params if hasattr(item, "callspec") else {}
    own = own_kernel_name()
    for_own = params.get("kernel_name", own) == params.get("kernel", own) == own
    if not for_own or item.get_closest_marker("idles"):
        return False
    return item.path.parent.name in FAST or bool(item.get_closest_marker("smoke"))


def _is_in_tier(item: pytest.Item, tier: str) -> bool:
    if tier == "all":
        return True
    return not item.get_closest_marker("long") and (tier == "usual" or _is_fast(item))


def _has_xdist(config: pytest.Config) -> bool:
    """Whether several processes run the tests; one test by hand needs no plugin."""
    return config.pluginmanager.hasplugin("xdist")


@pytest.hookimpl(tryfirst=True)  # before xdist looks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not in the tier, and put together what one process runs."""
    tier = config.getoption("tier")
    left_out = [item for item in items if not _is_in_tier(item, tier)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]
    for item in items:
        item.user_properties.append(("kind", parts.kind_of(item)))
    if _has_xdist(config):
        parts.put_in_parts(items)


def pytest_configure(config: pytest.Config) -> None:
    """One process is of lower priority."""
    if _has_xdist(config):
        import scheduling

        scheduling.stand_aside(config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """How many processes --numprocesses auto is."""
    import scheduling

    return scheduling.number()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: "Producer"
) -> "LoadGroupScheduling | None":
    """Which process gets which part."""
    import scheduling

    chosen = config.getoption("dist") == "loadgroup"
    return scheduling.Scheduling(config, log) if chosen else None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect how long tests took, and what they noted."""
    properties = dict(report.user_properties)
    TIMES[properties["kind"]] += report.duration
    if "summary" in properties:
        SUMMARIES[report.nodeid] = properties["summary"]


@pytest.hookimpl(tryfirst=True)
def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print what tests have measured, and the time that each part of the run took."""
    for name, text in SUMMARIES.items():
        terminalreporter.section(name)
        for line in text.splitlines():
            terminalreporter.line(line)
    terminalreporter.section("seconds of a process, by the kind of guest or the directory")
    for line in parts.table(TIMES):
        terminalreporter.line(line)

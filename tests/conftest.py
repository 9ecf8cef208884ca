# SPDX-License-Identifier: GPL-2.0-only
"""Hooks for a run as a whole: the order of its tests, and the table of its times."""

from collections import defaultdict
from typing import TYPE_CHECKING

import parts
import pytest
from _pytest.terminal import TerminalReporter
from harness.kernels import own_kernel_name

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadGroupScheduling

# The directories of tests that need neither a guest nor the headers of another kernel.
FAST = ("tests", "unit", "iobandctl", "node")
# Texts of tests for the end of the run, by record_property("summary", text).
SUMMARIES: dict[str, str] = {}
# Seconds of the processes that run tests, by the kind of guest or the directory.
TIMES: dict[str, float] = defaultdict(float)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the tiers; without a tier, all named tests run."""
    parser.addoption("--tier", choices=("fast", "usual", "all"), default="all")


def _is_fast(item: pytest.Item) -> bool:
    """Whether test-fast runs a test: without a guest, or a smoke test on this Debian's kernel.

    Tests with long idle times are excluded.
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
    """Deselect the tests outside of the tier, and group the tests that one process runs."""
    tier = config.getoption("tier")
    left_out = [item for item in items if not _is_in_tier(item, tier)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]
    for item in items:
        item.user_properties.append(("kind", parts.kind_of(item)))
    if _has_xdist(config):
        parts.put_in_parts(items)


def pytest_configure(config: pytest.Config) -> None:
    """Lower the priority of one process."""
    if _has_xdist(config):
        import scheduling

        scheduling.stand_aside(config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """The number of processes for --numprocesses auto."""
    import scheduling

    return scheduling.number()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: "Producer"
) -> "LoadGroupScheduling | None":
    """Assign the parts to processes."""
    import scheduling

    chosen = config.getoption("dist") == "loadgroup"
    return scheduling.Scheduling(config, log) if chosen else None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect the durations and the notes of tests."""
    properties = dict(report.user_properties)
    TIMES[properties["kind"]] += report.duration
    if "summary" in properties:
        SUMMARIES[report.nodeid] = properties["summary"]


@pytest.hookimpl(tryfirst=True)
def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print the notes of tests, and the time of each part of the run."""
    for name, text in SUMMARIES.items():
        terminalreporter.section(name)
        for line in text.splitlines():
            terminalreporter.line(line)
    terminalreporter.section("seconds of a process, by the kind of guest or the directory")
    for line in parts.table(TIMES):
        terminalreporter.line(line)

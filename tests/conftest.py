# SPDX-License-Identifier: GPL-2.0-only
"""What concerns the run as a whole: what fails it, and what is said of it."""

import re
from collections.abc import Generator

import pytest
import workers
from _pytest.terminal import TerminalReporter
from harness.splats import splats_of
from xdist.remote import Producer

SPLATS: list[str] = []
# What failed and was tried again: its name, and how it failed.
RETRIED: list[tuple[str, str]] = []
RETRIED_LINES = 40
# Of one that is told in short, so many characters.
SHORT = 300
# What tests want said at the end of the run, as record_property("summary", text).
SUMMARIES: dict[str, str] = {}
# What fio says when it reads other data than it wrote.
WRONG_DATA = re.compile(r"verify: bad |verify failed at file")


@pytest.hookimpl(tryfirst=True)  # before xdist looks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have data tested once, and those in one kind of guest one after another."""
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(pytest.mark.flaky(reruns=0))
    workers.put_in_groups(items)


def pytest_configure(config: pytest.Config) -> None:
    """A process that runs only tests without guests is of lower priority."""
    workers.stand_aside(config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """How many processes --numprocesses auto is."""
    return workers.number()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> workers.Scheduling | None:
    """Which process gets which group."""
    return workers.Scheduling(config, log) if config.getoption("dist") == "loadgroup" else None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect what the tests noted, and why they failed, of every try."""
    SPLATS.extend(text for text in splats_of(report) if text not in SPLATS)
    SUMMARIES.update(
        (report.nodeid, str(text)) for name, text in report.user_properties if name == "summary"
    )
    if report.outcome == "rerun":
        if WRONG_DATA.search(report.longreprtext):
            SPLATS.append(f"{report.nodeid}: wrong data")
        RETRIED.append((f"{report.nodeid} ({report.when})", report.longreprtext))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A test that failed may be tried again; a kernel that complained, or data lost, may not."""
    if SPLATS and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: TerminalReporter) -> Generator[None, None, None]:
    """Say what the kernels complained of, in whichever try it was, and what was tried again.

    And what tests have measured, which several processes do not print as they go.  Where a
    run's last lines are all that is kept of it, these tell why it failed.
    """
    _say_in_full(terminalreporter)
    yield
    if RETRIED or SPLATS:
        terminalreporter.section("in short")
    for name, text in RETRIED:
        terminalreporter.line(f"tried again: {name}: {_last_line(text)[:SHORT]}")
    for text in SPLATS:
        terminalreporter.line(f"fails the run: {' '.join(text.split())[:SHORT]}", red=True)


def _last_line(text: str) -> str:
    """What a failure ends with that is an error, or its last line."""
    lines = [line for line in text.splitlines() if line.strip()] or [""]
    return next((line for line in reversed(lines) if line.startswith("E ")), lines[-1])


def _say_in_full(terminalreporter: TerminalReporter) -> None:
    """Say what was measured, each try that failed, and what the kernels said."""
    for name, text in SUMMARIES.items():
        terminalreporter.section(name)
        for line in text.splitlines():
            terminalreporter.line(line)
    if RETRIED:
        terminalreporter.section("failed, and tried again")
        for name, text in RETRIED:
            terminalreporter.line(name, bold=True)
            for line in text.splitlines()[-RETRIED_LINES:]:
                terminalreporter.line(f"    {line}")
    if SPLATS:
        terminalreporter.section("kernel messages, guests that died, and wrong data")
        for line in SPLATS:
            terminalreporter.line(line)

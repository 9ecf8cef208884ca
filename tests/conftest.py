# SPDX-License-Identifier: GPL-2.0-only
"""What concerns the run as a whole: which tests stay together, and what fails it."""

import re
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter
from harness.splats import splats_of

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
# More tests than that in one kind of guest, and there are two guests of it.
GROUP_MAX = 100


def _companions(item: pytest.Item) -> tuple[bool, str]:
    """Whether a test needs a guest, and what it shares with the tests that one process runs.

    Those in one kind of guest share it; the others what their file builds or boots, or, of
    the mutants, those of one source file.
    """
    if "kernel_name" not in getattr(item, "fixturenames", ()):
        params = item.callspec.params if hasattr(item, "callspec") else {}
        return False, f"{item.path} {params.get('source', '')}".strip()
    marker = item.get_closest_marker("guest")
    options = [f"{name}={value}" for name, value in marker.kwargs.items()] if marker else []
    # xdist takes what follows the last @ for the group, if no ] comes after it.
    words = re.sub(r"[^\w.= ]", "", " ".join(sorted(options)))
    return True, f"{item.callspec.params['kernel_name']} {words}".strip()  # type: ignore[attr-defined]


def _halve(items: list[pytest.Item]) -> list[pytest.Item]:
    """Take the tests of about every second file out of a list, and return them."""
    files = sorted(Counter(item.path for item in items).items(), key=lambda file: -file[1])
    halves: tuple[set[Path], set[Path]] = (set(), set())
    sizes = [0, 0]
    for path, size in files:
        smaller = sizes.index(min(sizes))
        halves[smaller].add(path)
        sizes[smaller] += size
    taken = [item for item in items if item.path in halves[1]]
    items[:] = [item for item in items if item.path in halves[0]]
    return taken


@pytest.hookimpl(tryfirst=True)  # before xdist looks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Have data tested once, and with --dist loadgroup put tests in groups."""
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(pytest.mark.flaky(reruns=0))
    if getattr(config.option, "loadgroup", False):
        _put_in_groups(items)


def _put_in_groups(items: list[pytest.Item]) -> None:
    """Say what stays together, and put those first that take longest."""
    groups: dict[tuple[bool, str], list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(_companions(item), []).append(item)
    for (needs_guest, name), members in list(groups.items()):
        if needs_guest and len(members) > GROUP_MAX:
            groups[needs_guest, f"{name} more"] = _halve(members)
    for (_, name), members in groups.items():
        for item in members:
            item.add_marker(pytest.mark.xdist_group(name))
    order = sorted(groups, key=lambda key: (key[0], len(groups[key])), reverse=True)
    items[:] = [item for key in order for item in groups[key]]


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

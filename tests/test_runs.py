# SPDX-License-Identifier: GPL-2.0-only
"""What a run of the tests promises: which failures another try may make good."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
# The options of "make test".
ARGS = re.search(r"^PYTEST_ARGS \?= (.*)", (REPO / "Makefile").read_text(), re.M)[1].split()
PYTEST = [sys.executable, "-m", "pytest", "-c", str(REPO / "pyproject.toml"), "-p", "conftest"]
# What a test says that looks at data.
JUDGES_DATA = re.compile(r"\bverif(y|ied|ying)\b|VERIFY|\btouch\(|\bsha\d+sum|read_sectors")

# Each test fails once, in its own way, or twice.
FAILING = """
import os, pytest

def tried(name, times=1):
    with open(name, "a") as file:
        file.write("tried ")
        return file.tell() > times * len("tried ")

def test_shares():
    assert tried("shares", 2)

@pytest.mark.data
def test_data():
    assert tried("data")

@pytest.fixture
def device():
    yield
    assert tried("device")

@pytest.mark.data
def test_data_of_a_device(device):
    pass
"""
# Passes at the second try, after what fio says of data.
WRONG = """
def test_wrong():
    with open("wrong", "a") as file:
        assert file.write("tried") and file.tell() > len("tried"), "verify: bad magic header"
"""


def run(work: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a file of tests as "make test" would, with this repository's settings."""
    (work / "test_it.py").write_text(text)
    return subprocess.run(
        [*PYTEST, f"--rootdir={work}", *options, "test_it.py"],
        cwd=work,
        env={**os.environ, "PYTHONPATH": f"{REPO}/tests:{REPO}/tests/vm"},
        text=True,
        capture_output=True,
    )


@pytest.mark.parametrize("options", [ARGS, ARGS[:2]], ids=["several processes", "one process"])
def test_data_is_tested_once_and_the_rest_again(tmp_path: Path, options: list[str]) -> None:
    done = run(tmp_path, FAILING, *options)
    assert re.search(r"1 failed, 2 passed, 1 error, 2 rerun", done.stdout), done.stdout
    for test in ("FAILED test_it.py::test_data", "ERROR test_it.py::test_data_of_a_device"):
        assert re.search(rf"^{test}([ @]|$)", done.stdout, re.M), done.stdout
    assert done.stdout.count("\nRERUN test_it.py::test_shares") == 2


@pytest.mark.parametrize("options", [ARGS, ARGS[:2]], ids=["several processes", "one process"])
def test_what_is_to_be_said_at_the_end_is_said_once(tmp_path: Path, options: list[str]) -> None:
    text = 'def test_it(record_property):\n    record_property("summary", "two\\nlines")\n'
    done = run(tmp_path, text, *options)
    assert done.stdout.count("\ntwo\nlines\n") == 1, done.stdout


def test_wrong_data_fail_the_run_whichever_test_finds_them(tmp_path: Path) -> None:
    done = run(tmp_path, WRONG, *ARGS[:2])
    assert "1 passed, 1 rerun" in done.stdout
    assert "test_it.py::test_wrong: wrong data" in done.stdout
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    *_, retried, failing, last = done.stdout.splitlines()
    assert retried.startswith("tried again: test_it.py::test_wrong (call): E "), done.stdout
    assert failing == "fails the run: test_it.py::test_wrong: wrong data", done.stdout
    assert "1 passed, 1 rerun" in last


def is_marked(nodes: list[ast.expr]) -> bool:
    """Whether there is the mark among decorators, or what a file's pytestmark is."""
    return any("pytest.mark.data" in ast.unparse(node) for node in nodes)


def unmarked(file: Path) -> Iterator[str]:
    """The tests of a file that look at data, and do not say so."""
    tree = ast.parse(file.read_text())
    of_file = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            judges = JUDGES_DATA.search(ast.unparse(node))
            if judges and not is_marked([*of_file, *node.decorator_list]):
                yield f"{file.name}::{node.name}: {judges[0]}"


def test_tests_that_look_at_data_are_marked() -> None:
    files = (REPO / "tests/vm").glob("test_*.py")
    assert [test for file in files for test in unmarked(file)] == []

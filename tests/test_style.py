# SPDX-License-Identifier: GPL-2.0-only
"""The checks of "make check", one test each, and other checks of the tree as a whole."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePath

import pytest
from harness.kernels import SUITES
from harness.packages import versions

REPO = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "check",
    [
        "check-checkpatch",
        pytest.param("check-checkpatch-tests", marks=pytest.mark.long("takes a minute")),
        "check-python",
        "check-shell",
        "check-words",
    ],
)
def test_style(check: str) -> None:
    assert_check(check)


@pytest.mark.parametrize("kernel", SUITES)
def test_module_builds_without_a_warning(kernel: str) -> None:
    assert_check(f"check-c-{kernel}")


def assert_check(check: str) -> None:
    """Run a target of the Makefile."""
    done = subprocess.run(["make", "-s", check], cwd=REPO, text=True, capture_output=True)
    if done.returncode:
        pytest.fail(f"make {check}:\n{done.stdout}{done.stderr}", pytrace=False)


def test_one_version() -> None:
    assert len(set(versions().values())) == 1, versions()


def test_names_of_tests() -> None:
    """pytest uses the name of a file as module name, and collects only one of two equal names."""
    names = Counter(path.name for path in (REPO / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_kernels_with_detectors_have_the_tests_of_the_target() -> None:
    """Exceptions are tests of iobandctl, of costs, and tests that need a feature of QEMU."""
    listed = re.search(r"^FUNCTIONAL := ((?:.*\\\n)*.*)$", (REPO / "Makefile").read_text(), re.M)
    assert listed
    names = set(listed[1].replace("\\", " ").split())
    texts = {
        path.stem.removeprefix("test_"): path.read_text()
        for path in (REPO / "tests/vm").glob("test_*.py")
    }
    other = re.compile(r"iobandctl|\btool\b|^import cost$|^pytestmark = .*(icount|disks_mib)", re.M)
    of_target = {
        name for name, text in texts.items() if "ioband: Guest" in text and not other.search(text)
    }
    assert len(of_target) > 5
    assert names <= texts.keys()
    assert of_target - {"nomem"} <= names  # the debug kernel alone makes allocations fail


# Names of files and directories in the description of an entry.
NAMED = re.compile(r"[\w*/.-]*[\w*](?:/(?!\w)|\.(?:\[\w+\]|c|h|md|py|rst)\b)")


def entries(page: str) -> Iterator[tuple[str, str]]:
    """The paths in the annotated tree (some are patterns), each with its description."""
    tree = re.search(r"^## The tree\n\n```\n(.*?)^```$", page, re.M | re.S)[1]
    directory = path = text = ""
    for line in tree.splitlines():
        indent, name, rest = re.fullmatch(r"( *)(\S+)(.*)", line).groups()
        if len(indent) > 2:  # the description goes on
            text += f"{name}{rest} "
            continue
        if path:
            yield path, text
        path, text = (directory + name if indent else name), f"{rest} "
        if not indent:
            directory = name
    yield path, text


def tracked() -> set[str]:
    """All files of the repository, and all directories, which end in a slash."""
    done = subprocess.run(["git", "ls-files"], cwd=REPO, text=True, capture_output=True)
    if done.returncode:
        pytest.skip(f"not a checkout: {done.stderr.strip()}")
    files = [PurePath(line) for line in done.stdout.splitlines()]
    return {*map(str, files), *(f"{path}/" for file in files for path in file.parents[:-1])}


def wrong_in_tree(page: str, paths: set[str]) -> list[str]:
    """The differences between the annotated tree and the repository, in both directions."""
    described = dict(entries(page))
    levels = {str(PurePath(path).parent) for path in described}
    wrong = [path for path in described if not any(fnmatch(there, path) for there in paths)]
    wrong += [
        f"{path}: {name}"
        for path, text in described.items()
        for name in NAMED.findall(text)
        if not any(fnmatch(f"/{there}", f"*/{name}") for there in paths)
    ]
    return wrong + [
        f"not described: {there}"
        for there in sorted(paths)
        if str(PurePath(there).parent) in levels
        and not any(fnmatch(there, path) or path.startswith(there) for path in described)
    ]


def test_the_annotated_tree_is_the_repository() -> None:
    page = (REPO / "CONTRIBUTING.md").read_text()
    paths = tracked()
    assert len(dict(entries(page))) > 30
    assert wrong_in_tree(page, paths) == []


def test_what_differs_from_the_annotated_tree_is_found() -> None:
    page = """## The tree

```
src/                     the sources, see howto-*.rst
  main.c                 begins,
                         and calls gone.c
  gone.c                 ends
  core.[ch]              works
doc/                     how it is used
```
"""
    paths = {"src/", "src/main.c", "src/core.c", "src/core.h", "doc/", "doc/howto-it.rst"}
    assert wrong_in_tree(page, paths) == ["src/gone.c", "src/main.c: gone.c"]
    more = {"src/gone.c", "src/new.c", "doc/more.rst", "more/"}
    said = ["not described: more/", "not described: src/new.c"]
    assert wrong_in_tree(page, paths | more) == said
    less = {"src/", "src/main.c", "src/gone.c", "doc/"}
    assert wrong_in_tree(page, less)[:2] == ["src/core.[ch]", "src/: howto-*.rst"]

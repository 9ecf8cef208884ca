# SPDX-License-Identifier: GPL-2.0-only
"""No files of iobandctl call each other in a circle, by the symbols of their objects."""

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from toolbuild import TEST_SOURCES, Built, sh


def circle_of(objects: dict[str, Path]) -> list[str]:
    """Objects each of which needs a symbol of the next, the first being the last."""
    defined: dict[str, str] = {}
    needed: dict[str, list[str]] = {}
    for name, path in objects.items():
        lines = sh("nm", "-P", "-g", path, check=True).stdout.splitlines()
        words = [line.split() for line in lines]
        needed[name] = [word[0] for word in words if word[1] == "U"]
        defined |= {word[0]: name for word in words if word[1] in "TDBR"}
    assert len(defined) > len(objects)
    uses = {
        name: {defined[symbol] for symbol in symbols if symbol in defined}
        for name, symbols in needed.items()
    }
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_files_call_each_other(built: Built) -> None:
    objects = {name: path for name, path in built.objects.items() if name not in TEST_SOURCES}
    assert circle_of(objects) == []


def test_a_circle_of_calls_is_found(tmp_path: Path) -> None:
    calls = {"a": "b", "b": "c", "c": "a"}
    for name, other in calls.items():
        text = f"void {other}(void);\nint of_{name};\nvoid {name}(void) {{ {other}(); }}\n"
        (tmp_path / f"{name}.c").write_text(text)
        sh("cc", "-c", "-o", tmp_path / f"{name}.o", tmp_path / f"{name}.c", check=True)
    objects = {name: tmp_path / f"{name}.o" for name in calls}
    assert set(circle_of(objects)) == set(calls)
    del objects["c"]
    assert circle_of(objects) == []

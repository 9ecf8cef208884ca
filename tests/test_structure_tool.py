# SPDX-License-Identifier: GPL-2.0-only
"""The folders of iobandctl are layers: a file includes headers of its own layer or of lower ones.

The layers, from the highest to the lowest, are those of the annotated tree in CONTRIBUTING.md.
"""

import re
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
TOOL = "tools/iobandctl/"
TOP = "."  # the layer of the files in the root folder itself


def layers_in(page: str, folder: str) -> list[str]:
    """The folders that the annotated tree lists in a folder, in its order."""
    entries = re.search(rf"^{re.escape(folder)} .*\n((?: .*\n)+)", page, re.MULTILINE)
    assert entries, folder
    return [TOP, *re.findall(r"^  ([\w-]+)/ ", entries[1], re.MULTILINE)]


def includes(root: Path) -> dict[Path, list[Path]]:
    """The headers in quotes that each C file and header below a folder includes."""
    return {
        path.relative_to(root): [
            Path(name) for name in re.findall(r'^#include "(.*)"', path.read_text(), re.MULTILINE)
        ]
        for path in sorted(root.rglob("*.[ch]"))
    }


def wrong_includes(root: Path, layers: Sequence[str]) -> list[str]:
    """The includes of a missing header or of a higher layer, and files outside all layers."""
    rank = {layer: number for number, layer in enumerate(layers)}
    found = includes(root)
    wrong = [f"{file}: in no layer" for file in found if str(file.parent) not in rank]
    for file, headers in found.items():
        for header in headers:
            if header not in found:
                wrong.append(f"{file}: there is no {header}")
            elif rank.get(str(header.parent), 0) < rank.get(str(file.parent), 0):
                wrong.append(f"{file}: {header} is of a higher layer")
    return wrong


def circle_in(root: Path) -> list[str]:
    """Files that include each other in a circle; a source and its header count as one."""
    units: dict[str, set[str]] = {}
    for file, headers in includes(root).items():
        unit = str(file.with_suffix(""))
        used = {str(header.with_suffix("")) for header in headers}
        units.setdefault(unit, set()).update(used - {unit})
    try:
        TopologicalSorter(units).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_include_runs_back_up() -> None:
    layers = layers_in((REPO / "CONTRIBUTING.md").read_text(), TOOL)
    assert len(layers) > 5
    assert wrong_includes(REPO / TOOL, layers) == []


def test_no_files_include_each_other() -> None:
    assert len(includes(REPO / TOOL)) > 100
    assert circle_in(REPO / TOOL) == []


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder with three layers, in order."""
    files = {
        "main.c": '#include "rooms/door.h"\n',
        "rooms/door.c": '#include "ground/stone.h"\n#include "rooms/door.h"\n',
        "rooms/door.h": "#include <stdio.h>\n",
        "ground/stone.h": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("ground/stone.h", '#include "rooms/door.h"\n', "rooms/door.h is of a higher layer"),
        ("rooms/door.h", '#include "stone.h"\n', "there is no stone.h"),
        ("attic/box.c", "", "in no layer"),
    ],
)
def test_a_wrong_include_is_found(house: Path, file: str, text: str, says: str) -> None:
    page = "house/    a house\n  main.c    its door\n  rooms/    rooms\n  ground/    below\n"
    layers = layers_in(page, "house/")
    assert layers == [TOP, "rooms", "ground"]
    assert wrong_includes(house, layers) == []
    (house / file).parent.mkdir(exist_ok=True)
    (house / file).write_text(text)
    assert wrong_includes(house, layers) == [f"{file}: {says}"]


def test_a_circle_of_includes_is_found(house: Path) -> None:
    assert circle_in(house) == []
    (house / "rooms/key.c").write_text('#include "rooms/door.h"\n')
    (house / "rooms/key.h").write_text("")
    (house / "rooms/door.h").write_text('#include "rooms/key.h"\n')
    assert set(circle_in(house)) == {"rooms/door", "rooms/key"}

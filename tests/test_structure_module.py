# SPDX-License-Identifier: GPL-2.0-only
"""The order of the module's files in CONTRIBUTING.md: each includes and calls only files below it.

A source and its header are one layer.  An arrow is an #include, or the use of a function that
another source defines.  The names of these functions begin with the name of their source.
"""

import re
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
MODULE = "drivers/md/dm-ioband/"
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
LINES_OF_HEADER = 300
INCLUDE = re.compile(r'^#include "([\w/]+)\.h"', re.MULTILINE)
DEFINED = re.compile(
    r"^(?!static|struct \w+ \{|#|/)[a-z][\w \t*]*?\b(\w+)\([^;{}]*\)\s*(?:__\w+\([^)]*\)\s*)?\n\{",
    re.MULTILINE,
)
FUNCTION = re.compile(r"^[a-z][^;{}=]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
WALK = re.compile(r"\blist_for_each_entry\w*\([^;{]*&pool->active\b")
BODY = re.compile(r"^\{\n.*?^\}", re.MULTILINE | re.DOTALL)


def listed(page: str) -> list[str]:
    """The layers, from top to bottom: paths in the module's folder, without their suffix."""
    lines = page[page.index(f"\n{MODULE} ") :].splitlines()[2:]
    folder = ""
    names = []
    for line in lines:
        if not line.startswith("  "):
            break
        word = line.split()[0]
        folder = folder if line.startswith("    ") else ""
        if word.endswith("/"):
            folder = word
        elif match := re.fullmatch(r"([\w-]+)\.(?:c|h|\[ch\])", word):
            names.append(folder + match[1])
    return names


def layer_of(path: Path, root: Path) -> str:
    return path.relative_to(root).with_suffix("").as_posix()


def arrows(root: Path) -> Iterator[tuple[str, str, str]]:
    """From which layer to which, and the include or the function that is the reason."""
    texts = {path: path.read_text() for path in sorted(root.rglob("*.[ch]"))}
    bare = {path: COMMENT_OR_STRING.sub(" ", text) for path, text in texts.items()}
    homes: dict[str, str] = {}
    for path, text in bare.items():
        if path.suffix == ".c":
            homes |= {name: layer_of(path, root) for name in DEFINED.findall(text)}
    for path, text in texts.items():
        own = layer_of(path, root)
        for name in INCLUDE.findall(text):
            beside = (path.parent / name).with_suffix(".h")
            yield own, layer_of(beside, root), f"#include {name}.h"
        # What a header declares outside of functions is no call.
        used = bare[path] if path.suffix == ".c" else "\n".join(BODY.findall(bare[path]))
        for name in sorted(set(re.findall(r"(?<!struct )\b\w+\b", used)) & homes.keys()):
            yield own, homes[name], name


def faults(root: Path, layers: list[str]) -> list[str]:
    """Arrows that run back up, and files that have no layer."""
    place = {layer: number for number, layer in enumerate(layers)}
    there = {layer_of(path, root) for path in root.rglob("*.[ch]")}
    wrong = [f"{layer}: not in the list" for layer in sorted(there - place.keys())]
    wrong += [f"{layer}: there is no such file" for layer in layers if layer not in there]
    for source, target, reason in arrows(root):
        if place.get(source, -1) > place.get(target, len(place)):
            wrong.append(f"{source} is below {target}: {reason}")
    return wrong


def prefix_faults(root: Path) -> list[str]:
    """Functions of FILE.c for other sources that are neither ioband_FILE nor ioband_FILE_..."""
    wrong = []
    for path in sorted(root.rglob("*.c")):
        prefix = f"ioband_{path.stem}"
        for name in DEFINED.findall(COMMENT_OR_STRING.sub(" ", path.read_text())):
            if name != prefix and not name.startswith(f"{prefix}_"):
                wrong.append(f"{layer_of(path, root)}: {name} does not begin with {prefix}_")
    return wrong


def long_headers(root: Path) -> list[str]:
    """Headers of more than LINES_OF_HEADER lines."""
    lines = {path.name: path.read_text().count("\n") for path in root.rglob("*.h")}
    return [f"{name}: {count} lines" for name, count in lines.items() if count > LINES_OF_HEADER]


def test_no_header_is_long(tmp_path: Path) -> None:
    assert not (wrong := long_headers(REPO / MODULE)), "\n".join(wrong)
    (tmp_path / "a.h").write_text("\n" * LINES_OF_HEADER)
    assert not long_headers(tmp_path)
    (tmp_path / "b.h").write_text("\n" * (LINES_OF_HEADER + 1))
    assert long_headers(tmp_path) == ["b.h: 301 lines"]


def test_names_begin_with_that_of_their_file() -> None:
    """Without an exception: device-mapper calls the target's entry points by static functions."""
    assert not (wrong := prefix_faults(REPO / MODULE)), "\n".join(wrong)


def test_a_name_of_another_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    (tmp_path / "top.c").write_text("int ioband_top(int a)\n{\n\treturn a;\n}\n")
    (tmp_path / "low/down.c").write_text(
        "static int up(void)\n{\n\treturn 1;\n}\n\nint __init ioband_down_init(void)\n{\n}\n"
    )
    assert not prefix_faults(tmp_path)
    with (tmp_path / "low/down.c").open("a") as source:
        source.write("\nstruct top *ioband_top_find(int a,\n\t\t\t\tint b)\n{\n\treturn NULL;\n}\n")
    assert prefix_faults(tmp_path) == ["low/down: ioband_top_find does not begin with ioband_down_"]


def test_each_file_uses_only_files_below_it() -> None:
    layers = listed((REPO / "CONTRIBUTING.md").read_text())
    assert len(layers) > 30
    assert not (wrong := faults(REPO / MODULE, layers)), "\n".join(wrong)


def test_arrows_that_run_back_up_are_found(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    (tmp_path / "top.c").write_text(
        '#include "low/down.h"\n\nint top_call(int a,\n\t     int b)\n{\n\treturn down();\n}\n'
    )
    (tmp_path / "low/down.h").write_text("int top_call(int a, int b);\nint down(void);\n")
    (tmp_path / "low/down.c").write_text(
        '#include "down.h"\n\n/* top_call() is above. */\nint down(void)\n{\n\treturn 1;\n}\n'
    )
    layers = listed(f"\n{MODULE}  title\n  top.c  a\n  low/  b\n    down.[ch]  c\ntools/  d\n")
    assert layers == ["top", "low/down"]
    assert not faults(tmp_path, layers)
    assert faults(tmp_path, layers[::-1]) == [
        "top is below low/down: #include low/down.h",
        "top is below low/down: down",
    ]
    with (tmp_path / "low/down.c").open("a") as source:
        source.write("\nint again(void)\n{\n\treturn top_call(1, 2);\n}\n")
    assert faults(tmp_path, layers) == ["low/down is below top: top_call"]
    (tmp_path / "new.c").write_text("")
    assert "new: not in the list" in faults(tmp_path, layers)


def walks_over_groups(root: Path) -> set[str]:
    """Functions with a loop over the active groups that does not drop the pool's lock."""
    return {
        f"{path.stem}: {name}"
        for path in sorted(root.rglob("*.c"))
        for name, body in FUNCTION.findall(path.read_text())
        if WALK.search(body)
    }


def test_no_bio_waits_for_a_walk_over_all_groups() -> None:
    """Except for few groups, IOBAND_SCAN_GROUPS, and to set a minimum."""
    assert walks_over_groups(REPO / MODULE) == {
        "limits: inflight_ios",
        "pool: is_overhead_high",
        "pool: moved_part",
    }

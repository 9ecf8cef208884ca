# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl, its unit tests, its fuzzer, and iobandctl on a fake kernel, built with sanitizers."""

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cache import build_dir, locked

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[2] / "tools/iobandctl"
VERBS = [
    name.replace("_", "-")
    for name in re.findall(r"&verb_(\w+),", (SOURCE / "main.c").read_text())
    if name != "help"
]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1"]
STRICT = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"]


def sh(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command and return its result."""
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, **options
    )


def man_page() -> str:
    """The manual page, without its markup."""
    return (SOURCE / "iobandctl.8").read_text().replace("\\-", "-").replace("Fl -", "--")


def ask_packages(option: str) -> list[str]:
    """pkg-config's answer for the libraries that the Makefile names."""
    (names,) = re.findall(r"^LIBS := (.*)", (SOURCE / "Makefile").read_text(), re.MULTILINE)
    return sh("pkg-config", option, *names.split(), check=True).stdout.split()


def compile_c(output: Path, inputs: Sequence[Path], source: Path, *libraries: str) -> None:
    """Compile or link against the headers of a source directory."""
    include = ["-I", source, "-I", HERE, *ask_packages("--cflags")]
    done = sh("cc", *STRICT, *SANITIZERS, *include, "-o", output, *inputs, *libraries)
    assert not done.returncode, done.stderr


@dataclass
class Built:
    """The results of a source directory: object files by source, and programs."""

    objects: dict[str, Path]
    output: Path
    iobandctl: Path
    unit: Path
    swap: Path
    fuzz: Path
    fake: Path


UNIT_SOURCES = ["test-main", "test-parse", "test-rest", "test-explain"]
UNIT_SOURCES += ["test-record", "test-conf", "test-weigh", "test-rates", "test-bounds"]
UNIT_SOURCES += ["test-explain-latency", "test-use", "test-reach"]
TEST_SOURCES = [*UNIT_SOURCES, "test-swap", "fuzz", "fake-kernel"]
# Calls that test-use.c replaces.
WRAPPED = ["open", "close", "stat", "statx", "mnt_table_parse_mtab"]
PARSER = [
    *("kernel/parse", "base/weight", "base/rates", "base/bounds", "base/words", "base/alloc"),
    "base/error",
]
PARSER += ["base/show", "config/conf", "config/conf-read", "config/conf-path"]
SWAP = ["test-swap", "kernel/swap", "kernel/kmsg"]
FAKED = ["kernel/dm", "kernel/replace", "kernel/kmsg", "cgroup/mount", "base/records"]


def link_all(output: Path, objects: dict[str, Path], tests: Sequence[str], *options: str) -> None:
    """Link with all of iobandctl but its main program."""
    names = [*tests, *(name for name in objects if name not in TEST_SOURCES)]
    compile_c(
        output,
        [objects[name] for name in names if name != "main"],
        SOURCE,
        *ask_packages("--libs"),
        *options,
    )


def link_unit(output: Path, objects: dict[str, Path]) -> None:
    """Link the unit tests with all of iobandctl."""
    link_all(output, objects, UNIT_SOURCES, *(f"-Wl,--wrap={name}" for name in WRAPPED))


def link_swap(output: Path, objects: dict[str, Path]) -> None:
    """Link the tests of the changes of tables, which have a device-mapper of their own."""
    compile_c(output, [objects[name] for name in [*SWAP, *PARSER]], SOURCE, *ask_packages("--libs"))


def link_fuzz(output: Path, objects: dict[str, Path]) -> None:
    """Link the fuzzer with all of iobandctl."""
    link_all(output, objects, ["fuzz"])


def _built(output: Path) -> Built:
    sources = [str(path.relative_to(SOURCE)) for path in sorted(SOURCE.rglob("*.c"))]
    names = [*(source.removesuffix(".c") for source in sources), *TEST_SOURCES]
    objects = {name: output / f"{name}.o" for name in names}
    programs = (output / name for name in ("iobandctl", "unit", "swapper", "fuzzer", "faked"))
    return Built(objects, output, *programs)


def _is_up_to_date(output: Path, inputs: Iterable[Path]) -> bool:
    """Whether a file is newer than all its inputs."""
    if not output.exists():
        return False
    made = output.stat().st_mtime
    return all(path.stat().st_mtime < made for path in inputs)


def _compile_tests(output: Path) -> None:
    headers = [*SOURCE.rglob("*.h"), *HERE.glob("*.h")]
    for name in TEST_SOURCES:
        if not _is_up_to_date(output / f"{name}.o", [HERE / f"{name}.c", *headers]):
            compile_c(output / f"{name}.o", [HERE / f"{name}.c"], SOURCE, "-c")


def build() -> Built:
    """Build all in the cache; an earlier run or another process may have done so."""
    output = build_dir("iobandctl-tests", SOURCE)
    with locked(output.name):
        output.mkdir(parents=True, exist_ok=True)
        make = ["make", f"-j{os.cpu_count()}", "-C", SOURCE, f"O={output}"]
        done = sh(*make, "SANITIZE=1", "WERROR=1", "CFLAGS=-g -O1")
        assert not done.returncode, done.stdout + done.stderr
        _compile_tests(output)
        built = _built(output)
        objects = built.objects
        tests = [*UNIT_SOURCES, "test-swap", "fuzz", *FAKED]
        faked = [path for name, path in objects.items() if name not in tests]
        if not _is_up_to_date(built.fake, objects.values()):
            link_unit(built.unit, objects)
            link_swap(built.swap, objects)
            link_fuzz(built.fuzz, objects)
            compile_c(built.fake, faked, SOURCE, *ask_packages("--libs"))
    return built

# SPDX-License-Identifier: GPL-2.0-only
"""make fuzz: libFuzzer looks for texts that break a promise of a parser.

A corpus, corpus/SUBJECT.txt, has the texts found so far, one a line, with escapes of Python.  Each
reaches code or a number of rounds that no other one reaches.  The texts of a run are added to it.
The annotations of pods and the kernel's events are read by a program in Go, and fuzzed by Go
itself.  If one breaks a promise, Go writes it to a file that its unit tests read.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from harness.golang import MODULE, environment, go
from toolbuild import HERE, SOURCE, ask_packages

CORPUS = HERE / "corpus"
BUILD = HERE.parents[2] / "build/fuzz"
MODULE_LINES = "module"
GO_TESTS = {"annotations": ("FuzzWish", "class"), "uevent": ("FuzzIsMapped", "uevent")}
SUBJECTS = ["kernel", "cgroup", "conf", "recording", "event", "shown", MODULE_LINES, *GO_TESTS]
CLANG = os.environ.get("CLANG", "clang")
FLAGS = "-g -O1 -w"
SANITIZE = "address,undefined"
TEXT_MAX = 4096


def pack(texts: Iterable[bytes]) -> str:
    """A corpus as it is kept: the shortest text first, to tell a change from another."""
    lines = (text.decode("latin-1").encode("unicode_escape").decode() for text in texts)
    return "".join(f"{line}\n" for line in sorted(set(lines), key=lambda line: (len(line), line)))


def unpack_corpus(subject: str, directory: Path) -> list[Path]:
    """Write the texts of a corpus to files."""
    directory.mkdir(parents=True, exist_ok=True)
    files = []
    for number, line in enumerate((CORPUS / f"{subject}.txt").read_text().splitlines()):
        files.append(directory / str(number))
        files[-1].write_bytes(line.encode().decode("unicode_escape").encode("latin-1"))
    return files


def build() -> Path:
    """Build iobandctl and the fuzzer with clang."""
    flags = f"{FLAGS} -fsanitize=fuzzer-no-link"
    make = ["make", "-s", "-C", SOURCE, f"O={BUILD}", "SANITIZE=1", f"CC={CLANG}"]
    subprocess.run([*make, f"CFLAGS={flags}", BUILD / "iobandctl"], check=True)
    objects = [path for path in BUILD.rglob("*.o") if path.name != "main.o"]
    program = BUILD / "fuzzer"
    include = ["-I", SOURCE, "-I", HERE, *ask_packages("--cflags")]
    link = [CLANG, *FLAGS.split(), f"-fsanitize=fuzzer,{SANITIZE}", "-DLIBFUZZER", *include]
    inputs = [HERE / "fuzz.c", *objects, *ask_packages("--libs")]
    subprocess.run([*link, "-D_GNU_SOURCE", "-o", program, *inputs], check=True)
    return program


def build_module() -> Path:
    """Build the module's parser of table lines and messages, with its fuzzer."""
    sanitize = f"SANITIZE=-fsanitize=fuzzer,{SANITIZE} -fno-sanitize-recover=all"
    flags = f"CFLAGS={FLAGS} -DLIBFUZZER"
    make = ["make", "-s", "-C", HERE.parent, f"O={BUILD}-module", f"CC={CLANG}", sanitize, flags]
    subprocess.run([*make, "args_fuzz"], check=True)
    return Path(f"{BUILD}-module/args_fuzz")


def run(program: Path, subject: str, *args: str | Path) -> str:
    """What libFuzzer prints; a text that breaks a promise ends all."""
    found = BUILD / f"{subject}-broken-"
    options = [f"-max_len={TEXT_MAX}", f"-artifact_prefix={found}", "-timeout=10"]
    done = subprocess.run(
        [program, *options, *args],
        env={**os.environ, "FUZZ_SUBJECT": subject},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    if done.returncode:
        sys.exit(f"{done.stderr[-6000:]}\nThe text is in {found}*.")
    return done.stderr


def fuzz(subject: str, seconds: int) -> str:
    """Fuzz for so long, and keep the texts; returns a line with the figures."""
    program = build_module() if subject == MODULE_LINES else build()
    old, new, least = (BUILD / f"{subject}-{name}" for name in ("old", "new", "least"))
    for directory in (old, new, least):
        directory.mkdir(exist_ok=True)
        for file in directory.iterdir():
            file.unlink()
    if (CORPUS / f"{subject}.txt").exists():
        unpack_corpus(subject, old)
    log = run(program, subject, f"-max_total_time={seconds}", "-print_final_stats=1", new, old)
    run(program, subject, "-merge=1", least, old, new)
    CORPUS.mkdir(exist_ok=True)
    texts = [file.read_bytes() for file in least.iterdir()]
    (CORPUS / f"{subject}.txt").write_text(pack(texts))
    (count,) = re.findall(r"number_of_executed_units: *(\d+)", log)
    (first, *_, last) = re.findall(r"cov: (\d+)", log)
    return (
        f"{subject}: {count} texts in {seconds} s, {int(last) - int(first)} new edges; "
        f"corpus of {len(texts)}, {last} edges"
    )


def fuzz_go(subject: str, seconds: int) -> str:
    """The same by Go, which keeps its corpus in its cache."""
    test, package = GO_TESTS[subject]
    limits = [f"-fuzztime={seconds}s", "-parallel=1"]
    command = [go(), "test", "-run=^$", f"-fuzz=^{test}$", *limits, f"./internal/{package}"]
    done = subprocess.run(command, cwd=MODULE, env=environment(), capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    (*_, (count, found)) = re.findall(r"execs: (\d+) .*\(total: (\d+)\)", done.stdout)
    return f"{subject}: {count} texts in {seconds} s, corpus of {found}"


def main() -> None:
    """Fuzz all subjects, one after the other."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=600, help="for each subject")
    parser.add_argument("subjects", nargs="*", default=SUBJECTS)
    args = parser.parse_args()
    for subject in args.subjects:
        print((fuzz_go if subject in GO_TESTS else fuzz)(subject, args.seconds), flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check the language of comments, messages, documentation and commit subjects.

The rules are those of "Language" in CONTRIBUTING.md: the subject of a sentence is a noun of the
field.  This script counts the idioms that replace such a noun (`who`, `nobody`, `one that`,
`what is`, ...).  A tracked file has at most LIMIT of them per 1 000 words, unless it is in the
list TODO of files that are still to be rewritten.  That list only shrinks: a file that keeps the
limit has to leave it, and a file that has left cannot return.  Subjects of commits since SINCE
have the same limit.  It is a time, as a commit has another name after a rebase.

The sentences of an area have at most MEAN words on average, and README.md at most README_WORDS.

Without arguments, print a table by area, sentences of more than LONG words, the lines of the code,
and the findings of files that break a rule.
With files as arguments, print all findings of these files, long sentences too.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPO = Path(__file__).resolve().parents[1]
TODO = "scripts/words-todo"
SINCE = "2026-11-30 15:40 +0000"
LIMIT = 1.0  # per 1 000 words
LONG = 30  # words in a sentence
MEAN = 18.0  # words in a sentence, on average
README_WORDS = 1000
CODE = ("drivers/md/", "tools/iobandctl/")

IDIOM = re.compile(
    r"\b(?:who|whom|whose|who(?:m|so)?ever|nobody|somebody|anybody|everybody|he|him|his"
    r"|ones? (?:that|which|who)|that which|those that"
    r"|what(?:ever)? (?:is|are|was|were|has|have|had|does|do|did|can|cannot|may|must|will|would"
    r"|goes|comes|waits|needs|it|they|he|others?|else))\b",
    re.IGNORECASE,
)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
# On one line, or broken once.
INLINE_CODE = re.compile(r"``[^`\n]*\n?[^`\n]*``|`[^`\n]*\n?[^`\n]*`|https?://\S+")
MANUALS = (".5", ".8")
HASHES = (".sh", ".in", ".toml", ".config", ".conf", ".yml", ".rules", ".awk", ".preinst",
          ".postinst", ".prerm", ".postrm")  # fmt: skip
HASH_NAMES = ("Makefile", "Kbuild", "setup", "run", "init", "init-root", "rules", "control")
# By the beginning of the path; the first that fits.
AREAS = {
    "drivers/": "kernel module",
    "tools/": "iobandctl",
    "tests/": "tests",
    "Documentation/results/": "results",
    "Documentation/": "documentation",
    "udev/": "udev and packages",
    "debian/": "udev and packages",
    "": "front door and build",
}
SUBJECTS = "commit subjects"


class Line(NamedTuple):
    """One line of prose, and its number in the file."""

    number: int
    text: str


class Report(NamedTuple):
    """The counts of one file, or of the subjects of commits."""

    path: str
    words: int
    idioms: list[Line]
    sentences: list[Line]  # the long ones
    lengths: list[int]  # of all sentences, in words

    @property
    def rate(self) -> float:
        """Idioms per 1 000 words."""
        return 1000 * len(self.idioms) / self.words if self.words else 0.0


def _numbered(first: int, text: str) -> Iterator[Line]:
    for number, line in enumerate(text.splitlines(), first):
        yield Line(number, line)


def c_comments(text: str, strings: bool) -> Iterator[Line]:
    """The comments of a C file, without their frames, and the strings if these are wanted too."""
    token = r'"((?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])*\'|(/\*.*?\*/|//[^\n]*)'
    for found in re.finditer(token, text, re.DOTALL):
        number = text.count("\n", 0, found.start()) + 1
        if found[1] and strings:
            yield Line(number, re.sub(r"\\.", " ", found[1]))
        elif found[2]:
            for line in _numbered(number, found[2]):
                yield Line(line.number, re.sub(r"^\s*(?:/\*+|//|\*+(?!/))|\*/$", "", line.text))
        yield Line(0, "")  # a sentence does not go on in the next comment


def python_comments(text: str) -> Iterator[Line]:
    """The comments and docstrings of a Python file."""
    found = [
        Line(token.start[0], token.string.lstrip("# "))
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, kinds) and ast.get_docstring(node) is not None:
            first = node.body[0]
            assert isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            found += [*_numbered(first.lineno, first.value.value), Line(first.lineno, "")]
    yield from sorted(found, key=lambda line: line.number)


def hash_comments(text: str) -> Iterator[Line]:
    """The comments of scripts and settings."""
    for line in _numbered(1, text):
        stripped = line.text.strip()
        comment = stripped.startswith("#") and not stripped.startswith("#!")
        yield Line(line.number, stripped.lstrip("# ") if comment else "")


def rst(text: str) -> Iterator[Line]:
    """A page of reStructuredText without its literal blocks."""
    literal = -1  # the indent of what such a block belongs to
    for line in _numbered(1, text):
        stripped = line.text.strip()
        indent = len(line.text) - len(line.text.lstrip())
        if stripped and indent <= literal:
            literal = -1
        directive = stripped.startswith("..")
        yield Line(line.number, "" if literal >= 0 or directive else line.text)
        if literal < 0 and re.search(r"^\.\. code-block::|^(?!\.\.).*::$", stripped):
            literal = indent


def markdown(text: str) -> Iterator[Line]:
    """A page of Markdown without its code blocks, fenced or indented."""
    fenced = indented = False
    empty = True  # the line before
    for line in _numbered(1, text):
        stripped = line.text.strip()
        fence = stripped.startswith("```")
        fenced ^= fence
        indented = line.text.startswith("    ") and (empty or indented)
        yield Line(line.number, "" if fence or fenced or indented else line.text)
        empty = not stripped


def manual(text: str) -> Iterator[Line]:
    """A manual page of mdoc without its requests and displays."""
    display = False
    for line in _numbered(1, text):
        if line.text.startswith((".Bd -literal", ".Ed")):
            display = line.text.startswith(".Bd")
        request = line.text.startswith((".", "'"))
        paragraph = re.match(r"\.(?:Pp|Sh|Ss|It|El|Bl|Ed|Bd|Dl)\b", line.text)
        if paragraph:
            yield Line(line.number, "")
        elif not display and not request:
            yield Line(line.number, line.text)


def lines_of(path: str, text: str) -> Iterator[Line] | None:
    """The prose in a file; None if the file is of no kind that has some."""
    name = Path(path).name
    suffix = Path(name).suffix
    if suffix in (".c", ".h", ".go"):
        return c_comments(text, strings=path.startswith(CODE))
    if suffix == ".py":
        return python_comments(text)
    if suffix == ".rst":
        return rst(text)
    if suffix == ".md" or name == "NEWS":
        return markdown(text)
    if suffix in MANUALS:
        return manual(text)
    if suffix in HASHES or name in HASH_NAMES:
        return hash_comments(text)
    return None


def sentences(lines: list[Line]) -> Iterator[Line]:
    """Sentences with the lines on which they begin; an empty line or a list's mark ends one too."""
    said = ""
    number = 0
    for line in [*lines, Line(0, "")]:
        # Neither rulers nor the cells of a table go on in the next ones.
        text = re.sub(r"^[ =~^-]{4,}$", "", line.text).strip()
        text = re.sub(r" \| | {3,}", ". ", text)
        starts = not text or re.match(r"[*+-] |[0-9]+\. |\||#+ |@\w+:", text)
        for part in re.split(r"(?<=[.!?:])\s+", text):
            if starts and said:
                yield Line(number, said)
                said = ""
            starts = None
            number = number if said else line.number
            said = f"{said} {part}".strip()
            if re.search(r"[.!?:|]$", part):
                yield Line(number, said)
                said = ""


def examine(path: str, lines: list[Line]) -> Report:
    """Count the idioms and the long sentences of a file's prose."""
    lines = [line for line in lines if "SPDX-License-Identifier" not in line.text]
    # Code is replaced in place, so that lines keep their numbers.
    text = "\n".join(line.text for line in lines)
    text = INLINE_CODE.sub(lambda found: "code" + "\n" * found[0].count("\n"), text)
    numbers = [line.number for line in lines]
    kept = [Line(*each) for each in zip(numbers, text.split("\n"), strict=False)]
    whole = "\n".join(line.text for line in kept)
    idioms = []
    for found in IDIOM.finditer(re.sub(r"\s", " ", whole)):
        at = whole.count("\n", 0, found.start())
        idioms.append(Line(kept[at].number, kept[at].text.strip()))
    counted = [(len(WORD.findall(each.text)), each) for each in sentences(kept)]
    long = [sentence for count, sentence in counted if count > LONG]
    lengths = [count for count, _ in counted if count >= 3]  # not headings and cells of tables
    return Report(path, len(WORD.findall(whole)), idioms, long, lengths)


def git(*args: str, repo: Path = REPO) -> str | None:
    """The output of git, or None where there is no such repository, commit or file."""
    done = subprocess.run(["git", *args], cwd=repo, text=True, capture_output=True)
    return None if done.returncode else done.stdout


def examine_file(repo: Path, path: str) -> Report | None:
    """The report of a file, or None if it has no prose."""
    if not (repo / path).is_file() or (repo / path).is_symlink():
        return None
    try:
        lines = lines_of(path, (repo / path).read_text())
    except UnicodeDecodeError:
        return None
    return None if lines is None else examine(path, list(lines))


def examine_subjects(repo: Path, since: str) -> Report | None:
    """The report of the subjects, numbered from the newest, or None without a commit."""
    out = git("log", "--no-merges", "--format=%s", f"--since={since}", repo=repo)
    return None if out is None else examine(SUBJECTS, list(_numbered(1, out)))


def listed(repo: Path) -> list[str]:
    """The files that are still to be rewritten."""
    lines = (repo / TODO).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def returned(repo: Path, todo: list[str]) -> list[str]:
    """Files in the list that had left it in an earlier commit."""
    out = git("log", "--format=", "--patch", "--unified=0", "--", TODO, repo=repo) or ""
    left = {line[1:] for line in out.splitlines() if line.startswith("-") and line[1:2] != "-"}
    return [path for path in todo if path in left]


def areas(reports: dict[str, Report]) -> dict[str, list[Report]]:
    """The reports by area, at last all of them."""
    groups: dict[str, list[Report]] = {}
    for path, report in reports.items():
        area = next((AREAS[start] for start in AREAS if path.startswith(start)), "")
        groups.setdefault(SUBJECTS if path == SUBJECTS else area, []).append(report)
    return dict(sorted(groups.items())) | {"all": list(reports.values())}


def mean_length(members: list[Report]) -> float:
    """Words in a sentence, on average."""
    lengths = [length for each in members for length in each.lengths]
    return sum(lengths) / max(len(lengths), 1)


def broken_rules(repo: Path, reports: dict[str, Report]) -> list[str]:
    """One line for each violation of a rule."""
    todo = listed(repo)
    wrong = [f"{TODO}: {path}: has left this list already" for path in returned(repo, todo)]
    for path in todo:
        report = reports.get(path)
        if report is None:
            wrong.append(f"{TODO}: {path}: there is no such file")
        elif report.rate <= LIMIT:
            wrong.append(f"{TODO}: {path}: keeps the limit now, remove it from this list")
    for path, report in reports.items():
        if path not in todo and report.rate > LIMIT:
            wrong += [f"{path}:{line.number}: {line.text}" for line in report.idioms]
    for area, members in areas(reports).items():
        if mean_length(members) > MEAN:
            wrong.append(f"{area}: {mean_length(members):.1f} words a sentence, limit {MEAN:.0f}")
    if (words := readme_words(repo)) > README_WORDS:
        wrong.append(f"README.md: {words} words, limit {README_WORDS}")
    return wrong


def readme_words(repo: Path) -> int:
    """The length of the README as wc counts it, with its code."""
    readme = repo / "README.md"
    return len(readme.read_text().split()) if readme.is_file() else 0


def table(reports: dict[str, Report], todo: list[str]) -> list[str]:
    """Idioms and the length of sentences by area."""
    head = f"{'area':22}{'words':>8}{'idioms':>8}{'per 1000':>10}"
    lines = [f"{head}{'a sentence':>12}{'long':>7}{'to rewrite':>18}"]
    for area, members in areas(reports).items():
        words = sum(each.words for each in members)
        idioms = sum(len(each.idioms) for each in members)
        long = sum(len(each.sentences) for each in members)
        rest = f"{sum(each.path in todo for each in members)} of {len(members)} files"
        rate = f"{1000 * idioms / max(words, 1):10.1f}{mean_length(members):12.1f}"
        lines.append(f"{area:22}{words:8}{idioms:8}{rate}{long:7}{rest:>18}")
    return lines


def long_sentences(report: Report) -> Iterator[str]:
    """One line for each sentence of more than LONG words."""
    for line in report.sentences:
        count = len(WORD.findall(line.text))
        yield f"{report.path}:{line.number}: a sentence of {count} words: {line.text[:60]}..."


def sizes(repo: Path, tracked: list[str]) -> Iterator[str]:
    """The words of the README, the lines of the code in C, and the largest header."""
    yield f"README.md: {readme_words(repo)} words"
    for folder in CODE:
        files = [path for path in tracked if path.startswith(folder) and path[-2:] in (".c", ".h")]
        lines = {path: (repo / path).read_text().count("\n") for path in files}
        headers = {path: lines[path] for path in files if path.endswith(".h")}
        largest = max(headers, key=lambda path: headers[path], default="")
        header = f", largest header {largest} with {headers[largest]}" if largest else ""
        yield f"{folder}: {sum(lines.values())} lines{header}"


def main(arguments: list[str], repo: Path = REPO) -> int:
    """Check the tree, or show all findings of some files."""
    tracked = (git("ls-files", repo=repo) or "").splitlines()
    if not tracked and not arguments:
        print(f"words: not a checkout, neither files nor {SUBJECTS} are checked")
        return 0
    reports = {}
    for path in arguments or tracked:
        if report := examine_file(repo, path):
            reports[path] = report
    if arguments:
        for path, report in reports.items():
            for line in report.idioms:
                print(f"{path}:{line.number}: {line.text}")
            print(*long_sentences(report), sep="\n")
            print(f"{path}: {report.words} words, {report.rate:.1f} idioms per 1000 words")
        return 0
    if subjects := examine_subjects(repo, SINCE):
        reports[SUBJECTS] = subjects
    print(*table(reports, listed(repo)), sep="\n")
    print(*sizes(repo, tracked), sep="\n")
    print(*(line for report in reports.values() for line in long_sentences(report)), sep="\n")
    wrong = broken_rules(repo, reports)
    print(*wrong, sep="\n", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

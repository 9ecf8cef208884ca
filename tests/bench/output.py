# SPDX-License-Identifier: GPL-2.0-only
"""Output of the benchmarks."""

import argparse
import json
from pathlib import Path


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The command line, common to all benchmarks."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, help="where the figures go, for machines")
    return parser


def add_later_us(parser: argparse.ArgumentParser) -> None:
    """The argument of benchmarks that may use a disk with interrupts."""
    parser.add_argument(
        "--later-us",
        type=int,
        default=0,
        metavar="US",
        help="a disk that completes each I/O by an interrupt after this time, not at once",
    )


def disk_name(later_us: int) -> str:
    """The disk of a table, in words."""
    return f"completed after {later_us} us" if later_us else "completed at once"


def publish(table: str, figures: dict[str, object], release: str, path: Path | None) -> None:
    """Print a table, and write the kernel's release and the figures as JSON."""
    print(table)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"kernel": release} | figures, indent=2) + "\n")

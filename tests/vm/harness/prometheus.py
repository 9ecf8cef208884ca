# SPDX-License-Identifier: GPL-2.0-only
"""Debian's Prometheus and promtool, unpacked into the cache and not installed.

An installed package would start its service on this machine and in every guest.
"""

import contextlib
import json
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .apt import AptError
from .trees import own_archive, unpacked

PATIENCE_S = 120  # of a starved machine
CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: node
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""
TEXT = "text/plain; version=0.0.4; charset=utf-8"


@cache
def _programs() -> Path:
    """The directory of the programs.  They need no library but the C library."""
    archive = own_archive()
    try:
        packages = archive.resolve("prometheus")
    except AptError:  # its lists have never been read
        archive.update()
        packages = archive.resolve("prometheus")
    alone = [package for package in packages if package.name == "prometheus"]
    return unpacked("prometheus", archive, alone) / "usr/bin"


def promtool(*words: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run promtool; returns how it ended, with all that it said in stdout."""
    return subprocess.run(
        [_programs() / "promtool", *words],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@contextlib.contextmanager
def served(text: str) -> Iterator[int]:
    """Answer HTTP on the loopback interface with a text of metrics; yields the port."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", TEXT)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def soon(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@dataclass(frozen=True)
class Prometheus:
    """A Prometheus that runs."""

    url: str

    def get(self, path: str, **query: str) -> Any:
        """The data of an answer of the HTTP API."""
        words = urllib.parse.urlencode(query)
        with urllib.request.urlopen(f"{self.url}/{path}?{words}", timeout=30) as answer:
            read = json.load(answer)
        assert read["status"] == "success", read
        return read["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression has now."""
        return self.get("api/v1/query", query=expression, time=str(time.time()))["result"]

    def is_up(self) -> bool:
        """Whether it answers."""
        try:
            self.query("1")
        except OSError:
            return False
        return True


@contextlib.contextmanager
def running(directory: Path, text: str, rules: Path) -> Iterator[Prometheus]:
    """A Prometheus that scrapes a text of metrics, with alert rules."""
    with served(text) as port:
        (directory / "prometheus.yml").write_text(CONFIG.format(rules=rules, port=port))
        address = f"127.0.0.1:{_free_port()}"
        command = [
            _programs() / "prometheus",
            f"--config.file={directory}/prometheus.yml",
            f"--storage.tsdb.path={directory}/data",
            f"--web.listen-address={address}",
        ]
        with open(directory / "said", "w") as said:
            process = subprocess.Popen(command, stdout=said, stderr=said)
        prometheus = Prometheus(f"http://{address}")
        try:
            soon(lambda: prometheus.is_up() or process.poll() is not None)
            assert process.poll() is None, (directory / "said").read_text()
            yield prometheus
        finally:
            process.terminate()
            process.wait()

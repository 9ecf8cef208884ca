# SPDX-License-Identifier: GPL-2.0-only
"""A small API server of a cluster, for one node: pods to list and watch, and events.

It runs in the guest, which has no network, and needs the standard library only.  Commands are
read from a FIFO, one JSON object a line:

    {"put": POD}        a pod is new or other than before
    {"delete": UID}     a pod is gone
    {"expire": true}    watches end with the error that their version is too old
    {"refuse": true}    all requests are answered with an error of the server, or no longer

Events that are made are appended to a file, one JSON object a line.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

IDLE_S = 3600


class Cluster:
    """The pods, and what happened to them since the last expiry."""

    def __init__(self):
        self.changed = threading.Condition()
        self.version = 1
        self.pods: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, str, dict[str, Any]]] = []
        self.oldest = 1
        self.refuses = False

    def command(self, command: dict[str, Any]) -> None:
        """Do what a line of the FIFO says."""
        with self.changed:
            self.version += 1
            if "put" in command:
                pod = command["put"]
                uid = pod["metadata"]["uid"]
                kind = "MODIFIED" if uid in self.pods else "ADDED"
                pod["metadata"]["resourceVersion"] = str(self.version)
                self.pods[uid] = pod
                self.history.append((self.version, kind, pod))
            elif "delete" in command:
                pod = self.pods.pop(command["delete"])
                pod["metadata"]["resourceVersion"] = str(self.version)
                self.history.append((self.version, "DELETED", pod))
            elif "expire" in command:
                self.history.clear()
                self.oldest = self.version
            elif "refuse" in command:
                self.refuses = command["refuse"]
            self.changed.notify_all()

    def follow(self, version: int) -> Iterator[dict[str, Any]]:
        """The events of a watch from a version on."""
        while True:
            with self.changed:
                if version < self.oldest:
                    yield {"type": "ERROR", "object": {"code": 410, "message": "too old"}}
                    return
                fresh = [entry for entry in self.history if entry[0] > version]
                if not fresh:
                    self.changed.wait(IDLE_S)
                    continue
            for _, kind, pod in fresh:
                yield {"type": kind, "object": pod}
            version = fresh[-1][0]


CLUSTER = Cluster()


class Handler(BaseHTTPRequestHandler):
    """Answers a request."""

    def answer(self, code: int, value: Any) -> None:
        """Send an object."""
        text = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self) -> None:
        """The pods, or a watch of them."""
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        if CLUSTER.refuses:
            self.answer(503, {"message": "the server refuses"})
        elif url.path != "/api/v1/pods" or query.get("fieldSelector") != [SELECTOR]:
            self.answer(404, {"message": f"{self.path} is not there"})
        elif query.get("watch"):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            for event in CLUSTER.follow(int(query["resourceVersion"][0])):
                self.wfile.write(json.dumps(event).encode() + b"\n")
        else:
            with CLUSTER.changed:
                version, pods = str(CLUSTER.version), list(CLUSTER.pods.values())
            self.answer(200, {"metadata": {"resourceVersion": version}, "items": pods})

    def do_POST(self) -> None:
        """An event, which is written down; one of the same name is there already."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with CLUSTER.changed, open(EVENTS, "a") as file:
            file.write(json.dumps(body) + "\n")
        self.answer(201, body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


def main() -> None:
    """Serve on a port of the loopback interface."""
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[3])), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.mkfifo(sys.argv[1])
    # Open for writing too, it has no end.
    with os.fdopen(os.open(sys.argv[1], os.O_RDWR)) as fifo:
        for line in fifo:
            CLUSTER.command(json.loads(line))


if __name__ == "__main__":
    EVENTS = sys.argv[2]
    SELECTOR = f"spec.nodeName={sys.argv[4]}"
    main()

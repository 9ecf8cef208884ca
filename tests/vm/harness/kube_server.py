# SPDX-License-Identifier: GPL-2.0-only
"""A small API server of a cluster, for one node: pods to list and watch, and events.

It runs in the guest, which has no network, and needs the standard library only.  Commands are
read from a FIFO, one JSON object a line:

    {"put": POD}        a pod is new or other than before
    {"delete": UID}     a pod is gone
    {"expire": true}    watches end with the error that their version is too old
    {"refuse": true}    all requests are answered with an error of the server, or no longer

Events that are made are appended to a file, one JSON object a line.  Refusals have the codes
of a cluster's API server.  An event is refused if its name is taken, if its namespace is not that
of the path and the pod, or if a value is too long.  Requests beyond the role in
packaging/kubernetes/rbac.yaml are refused too.
"""

import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

IDLE_S = 3600
# The limits of the API server.
NAME_MAX = 253
MESSAGE_MAX = 1024
DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
EVENTS_PATH = re.compile(r"/api/v1/namespaces/([^/]+)/events")
PODS_PATH = "/api/v1/pods"


class Cluster:
    """The pods, and what happened to them since the last expiry."""

    def __init__(self):
        self.changed = threading.Condition()
        self.version = 1
        self.pods: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, str, dict[str, Any]]] = []
        self.oldest = 1
        self.refuses = False
        self.events: set[tuple[str, str]] = set()

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

    def refusal(self, namespace: str, event: dict[str, Any]) -> tuple[int, str, str] | None:
        """Why an event cannot be made: the code, the reason and a message."""
        named, about = event["metadata"], event["involvedObject"]
        name = named.get("name", "")
        if named.get("namespace") != namespace:
            return 400, "BadRequest", "the namespace of the object is not that of the request"
        if about["namespace"] != namespace:
            return 422, "Invalid", "involvedObject.namespace: does not match event.namespace"
        if len(name) > NAME_MAX or not DNS_NAME.fullmatch(name):
            return 422, "Invalid", f"metadata.name: {name!r}"
        if len(event["message"]) > MESSAGE_MAX:
            return 422, "Invalid", f"message: can have at most {MESSAGE_MAX} characters"
        if (namespace, name) in self.events:
            return 409, "AlreadyExists", f'events "{name}" already exists'
        return None

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

    def refuse(self, code: int, reason: str, message: str) -> None:
        """Answer with a Status, as the API server does."""
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
        self.answer(code, {**status, "code": code, "reason": reason, "message": message})

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
            self.refuse(503, "ServiceUnavailable", "the server refuses")
        elif url.path != PODS_PATH:
            self.refuse(403, "Forbidden", f"the role does not allow to get {url.path}")
        elif query.get("fieldSelector") != [SELECTOR]:
            self.refuse(400, "BadRequest", "the pods of other nodes are not asked for")
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
        """An event, which is written down."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if CLUSTER.refuses:
            self.refuse(503, "ServiceUnavailable", "the server refuses")
            return
        match = EVENTS_PATH.fullmatch(urlsplit(self.path).path)
        if not match:
            self.refuse(403, "Forbidden", f"the role does not allow to create in {self.path}")
            return
        with CLUSTER.changed:
            refusal = CLUSTER.refusal(match[1], body)
            if not refusal:
                CLUSTER.events.add((match[1], body["metadata"]["name"]))
                with open(EVENTS, "a") as file:
                    file.write(json.dumps(body) + "\n")
        if refusal:
            self.refuse(*refusal)
        else:
            self.answer(201, body)

    def do_PATCH(self) -> None:
        """The role allows no change of an object."""
        self.refuse(403, "Forbidden", f"the role does not allow to {self.command} {self.path}")

    do_PUT = do_DELETE = do_PATCH

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

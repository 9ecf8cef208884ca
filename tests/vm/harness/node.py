# SPDX-License-Identifier: GPL-2.0-only
"""ioband-node in a guest, beside a small API server of the cluster."""

import contextlib
import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .containers import NRI_SOCKET, Pod
from .golang import MODULE, build_program
from .guest import CommandError, Guest, Job
from .waiting import wait_until

SERVER = Path(__file__).resolve().with_name("kube_server.py")
NAME = "lab"
PORT = 8001
KUBE_URL = f"http://127.0.0.1:{PORT}"
METRICS = "127.0.0.1:9640"
DIRECTORY = "/run/ioband-node"
LVM_SOCKET = f"{DIRECTORY}/lvm.sock"
# Where a configuration finds the class file of a test.
CLASS_FILE = f"{DIRECTORY}/blockio.yaml"
START_S = 60
# What a URL on the loopback interface answers: the code, and the text.
GET = """
import sys, urllib.request, urllib.error
try:
    answer = urllib.request.urlopen(sys.argv[1], timeout=60)
except urllib.error.HTTPError as err:
    answer = err
print(answer.status)
print(answer.read().decode(), end="")
"""


class Cluster:
    """The API server: pods have annotations there, and events are made of them."""

    FIFO = f"{DIRECTORY}/cluster"
    EVENTS = f"{DIRECTORY}/events"

    def __init__(self, guest: Guest):
        self.guest = guest
        guest.write(self.EVENTS, "")
        command = ["/usr/bin/python3", "-S", SERVER, self.FIFO, self.EVENTS, PORT, NAME]
        self._job = guest.start([str(word) for word in command])
        wait_until(guest, lambda: guest.exists(self.FIFO), "an API server", START_S)

    def command(self, **command: Any) -> None:
        """Have the server do something (see kube_server)."""
        self._say(line(**command))

    def put(self, *pods: Pod) -> None:
        """Have the cluster know the annotations of pods, as they are now."""
        self._say("".join(map(put, pods)))

    def _say(self, lines: str) -> None:
        self.guest.run(f"cat >{self.FIFO}", input=lines)

    def events(self, pod: Pod) -> list[tuple[str, str]]:
        """The warnings of a pod: reasons and messages."""
        events = [json.loads(text) for text in self.guest.read(self.EVENTS).splitlines()]
        of_pod = [event for event in events if event["involvedObject"]["uid"] == pod.uid]
        for event in of_pod:
            named = event["involvedObject"]
            assert (named["kind"], named["name"]) == ("Pod", pod.name), event
            assert (event["type"], event["source"]["host"]) == ("Warning", NAME), event
        return [(event["reason"], event["message"]) for event in of_pod]

    def close(self) -> None:
        """End the server."""
        self._job.kill()
        self._job.wait(check=False)


def in_cluster(pod: Pod) -> dict[str, Any]:
    """A pod as the API server has it."""
    names = {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    return {"metadata": {**names, "annotations": pod.annotations}}


def put(pod: Pod) -> str:
    """The command with which the cluster knows the annotations of a pod, as they are now."""
    return line(put=in_cluster(pod))


def line(**command: Any) -> str:
    """A command for the server."""
    return json.dumps(command) + "\n"


def node_program() -> Path:
    """ioband-node, built for the guests."""
    return build_program(MODULE, "./cmd/ioband-node")


def get(guest: Guest, path: str) -> tuple[int, str]:
    """The code and the text of ioband-node's answer to HTTP."""
    out = guest.run(["/usr/bin/python3", "-S", "-c", GET, f"http://{METRICS}/{path}"]).out
    code, _, text = out.partition("\n")
    return int(code), text


@dataclass
class Node:
    """ioband-node that runs in a guest."""

    guest: Guest
    command: list[str]
    job: Job
    cluster: Cluster | None

    def kill(self) -> None:
        """End it without a word."""
        self.job.kill()
        self.job.wait(check=False)

    def start(self) -> None:
        """Start it anew."""
        self.job = self.guest.start(self.command)

    def get(self, path: str) -> tuple[int, str]:
        """The code and the text of an answer to HTTP."""
        return get(self.guest, path)

    def figure(self, name: str) -> float:
        """A figure without labels of its metrics."""
        lines = self.get("metrics")[1].splitlines()
        (value,) = [line.split()[1] for line in lines if line.startswith(f"{name} ")]
        return float(value)

    def await_ok(self) -> None:
        """Wait until it serves, and is connected to containerd, or has ended."""

        def is_ok() -> bool:
            ended = self.job.poll()
            assert ended is None, ended
            with contextlib.suppress(CommandError):
                return "ioband_node_nri_connected 1\n" in self.get("metrics")[1]
            return False

        wait_until(self.guest, is_ok, "ioband-node is not connected", START_S)

    def stop(self) -> str:
        """End it in good order, if it runs; returns its messages."""
        self.job.kill(signal.SIGTERM)
        return self.job.wait().err


@contextlib.contextmanager
def ioband_node(
    guest: Guest, iobandctl: Path, config: str, *, cluster: bool = True, class_file: str = ""
) -> Iterator[Node]:
    """Have ioband-node run, with a configuration; containerd need not run yet."""
    guest.run(["rm", "-rf", DIRECTORY])
    guest.run(["mkdir", DIRECTORY])
    guest.write(f"{DIRECTORY}/node.yaml", config)
    guest.write(CLASS_FILE, class_file)
    server = Cluster(guest) if cluster else None
    command = [
        str(node_program()),
        f"--config={DIRECTORY}/node.yaml",
        f"--node-name={NAME}",
        f"--kube-url={KUBE_URL}" if cluster else "--no-kube",
        f"--iobandctl={iobandctl}",
        f"--nri-socket={NRI_SOCKET}",
        f"--metrics={METRICS}",
        f"--lvm-socket={LVM_SOCKET}",
    ]
    node = Node(guest, command, guest.start(command), server)
    yield node
    if guest.alive:
        node.stop()
        if server:
            server.close()
        guest.run(["rm", "-r", DIRECTORY])

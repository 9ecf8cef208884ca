# SPDX-License-Identifier: GPL-2.0-only
"""containerd with NRI in a guest, and pods in it, made as the kubelet makes them.

NRI is in containerd from 1.7 on.  A Debian with an older one gets that of a later release;
runc is always that of the machine's own release, since it needs the C library of its release.
Both are unpacked into the cache.  No network is there: pods are in the network of the node.
"""

import base64
import contextlib
import hashlib
import io
import itertools
import json
import tarfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .apt import AptError, Archive, Package
from .golang import build_program
from .guest import SHARE, Guest
from .trees import own_archive, unpacked

HERE = Path(__file__).resolve().parent
NEEDS = (1, 7)
# A suite of Debian that has a containerd with NRI.
WITH_NRI = "trixie"
START_S = 120
DIRECTORY = "/run/cri"
SOCKET = f"{DIRECTORY}/containerd.sock"
NRI_SOCKET = "/var/run/nri/nri.sock"
LOGS = f"{DIRECTORY}/logs"
IMAGE = "localhost/box:latest"
# containerd knows the annotations that name classes of block I/O.  It refuses the containers of
# such a pod unless it is told to ignore them.
CONFIG = """version = 2
root = "{directory}/root"
state = "{directory}/state"
disabled_plugins = [
	"io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing",
	"io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.btrfs",
	"io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
	"io.containerd.tracing.processor.v1.otlp",
]
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{image}"
  disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".cni]
  conf_dir = "{directory}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
  ignore_blockio_not_enabled_errors = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  BinaryName = "{runc}"
  SystemdCgroup = {systemd}
[plugins."io.containerd.nri.v1.nri"]
  disable = {no_nri}
  plugin_path = "{directory}/nri"
  plugin_config_path = "{directory}/nri"
  socket_path = "{nri}"
"""
# As the package has it, from another place.  While the host reads a program, the guest's time may
# pass in leaps.
START = """Environment=PATH={programs}:/usr/sbin:/usr/bin:/sbin:/bin
ExecStartPre=/sbin/modprobe overlay
ExecStart={programs}/containerd --config {directory}/config.toml --log-level info"""
SERVICE = """[Unit]
After=dbus.service
[Service]
Type=notify
{start}
Delegate=yes
KillMode=process
TimeoutStartSec=infinity
LimitNOFILE=65536
TasksMax=infinity
OOMScoreAdjust=-999
"""
# The root of a container: busybox, and mount points for the node's /usr.
LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
DIRECTORIES = ("usr", "dev", "proc", "sys", "tmp", "run")
BUSYBOX = "/bin/busybox"
# The kubelet asks for these by default, but for the network.
NAMESPACES = {"network": "NODE", "pid": "CONTAINER"}

_numbers = itertools.count(1)


class CriError(RuntimeError):
    """The runtime refused a call; the text is its own."""


def _version(package: Package) -> tuple[int, int]:
    major, minor, *_ = package.version.split(":")[-1].split(".")
    return int(major), int(minor)


def _package(archive: Archive, name: str) -> Package:
    try:
        packages = archive.resolve(name)
    except AptError:  # its lists have never been read
        archive.update()
        packages = archive.resolve(name)
    return next(each for each in packages if each.name == name)


@cache
def containerd_programs() -> Path:
    """The directory with containerd and its shim."""
    archive = own_archive()
    package = _package(archive, "containerd")
    if _version(package) < NEEDS:
        archive = Archive(WITH_NRI)
        package = _package(archive, "containerd")
    return unpacked("containerd", archive, [package]) / "usr/bin"


@cache
def runc_program() -> Path:
    """runc; it needs the C library and libseccomp."""
    archive = own_archive()
    return unpacked("runc", archive, [_package(archive, "runc")]) / "usr/sbin/runc"


def _tar(entries: dict[str, bytes | str | None]) -> bytes:
    """A tar of files (bytes), links (a text) and directories (None), the same each time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in entries.items():
            info = tarfile.TarInfo(name)
            info.mode = 0o755
            if content is None:
                info.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
            else:
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return buffer.getvalue()


def make_image() -> bytes:
    """An image in the format of OCI: busybox, which sleeps."""
    files: dict[str, bytes | str | None] = {"busybox": Path(BUSYBOX).read_bytes()}
    layer = _tar(files | LINKS | dict.fromkeys(DIRECTORIES))
    blobs: dict[str, bytes | str | None] = {}

    def blob(kind: str, content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        media = f"application/vnd.oci.image.{kind}"
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(content)}

    tarred = blob("layer.v1.tar", layer)
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": ["/busybox", "sleep", "2147483647"]},
        "rootfs": {"type": "layers", "diff_ids": [tarred["digest"]]},
    }
    manifest = {
        "schemaVersion": 2,
        "config": blob("config.v1+json", json.dumps(config).encode()),
        "layers": [tarred],
    }
    index = blob("manifest.v1+json", json.dumps(manifest).encode())
    names = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
    index["annotations"] = dict.fromkeys(names, IMAGE)
    layout = {
        "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
        "index.json": json.dumps({"schemaVersion": 2, "manifests": [index]}).encode(),
    }
    return _tar(layout | blobs)


@dataclass
class Pod:
    """A pod as the kubelet hands it to containerd; it has one container, "main"."""

    name: str
    annotations: dict[str, str] = field(default_factory=dict)
    namespace: str = "default"
    command: Sequence[str] = ("/busybox", "sleep", "2147483647")
    volume: str = ""  # a block device of the node, /dev/volume in the container
    mounts: dict[str, str] = field(default_factory=dict)  # directories of the node in it
    readonly: Collection[str] = ()  # of these mounts, by the path in the container
    env: dict[str, str] = field(default_factory=dict)
    privileged: bool = False
    namespaces: dict[str, str] = field(default_factory=lambda: NAMESPACES)
    number: int = field(default_factory=lambda: next(_numbers))
    attempt: int = 0  # counts the sandboxes of the pod
    sandbox: str = ""
    container: str = ""

    @property
    def uid(self) -> str:
        """The UID that the cluster would give it."""
        return f"7d1c0f5e-0000-4000-8000-{self.number:012d}"

    def parent(self, systemd: bool) -> str:
        """What the kubelet names the cgroup of the pod to containerd."""
        if systemd:
            return f"kubepods-besteffort-pod{self.uid.replace('-', '_')}.slice"
        return f"/kubepods/besteffort/pod{self.uid}"

    def cgroup(self, systemd: bool) -> str:
        """The path of that cgroup."""
        above = "/kubepods.slice/kubepods-besteffort.slice/" if systemd else ""
        return above + self.parent(systemd)

    @property
    def _security(self) -> dict[str, Any]:
        return {"namespace_options": self.namespaces, "privileged": self.privileged}

    def sandbox_config(self, systemd: bool) -> dict[str, Any]:
        """What the CRI calls a PodSandboxConfig."""
        return {
            "metadata": {
                "name": self.name,
                "uid": self.uid,
                "namespace": self.namespace,
                "attempt": self.attempt,
            },
            "annotations": self.annotations,
            "log_directory": f"{LOGS}/{self.uid}",
            "labels": {
                "io.kubernetes.pod.name": self.name,
                "io.kubernetes.pod.namespace": self.namespace,
                "io.kubernetes.pod.uid": self.uid,
            },
            "linux": {
                "cgroup_parent": self.parent(systemd),
                "security_context": self._security,
            },
        }

    def container_config(self) -> dict[str, Any]:
        """What the CRI calls a ContainerConfig."""
        volumes = {"/dev/volume": self.volume} if self.volume else {}
        return {
            "metadata": {"name": "main", "attempt": self.attempt},
            "image": {"image": IMAGE, "user_specified_image": IMAGE},
            "command": list(self.command),
            "log_path": "main.log",
            "devices": [
                {"container_path": there, "host_path": here, "permissions": "rwm"}
                for there, here in volumes.items()
            ],
            "envs": [{"key": key, "value": value} for key, value in self.env.items()],
            "mounts": [
                {"container_path": there, "host_path": here, "readonly": there in self.readonly}
                for here, there in self.mounts.items()
            ],
            "labels": {
                "io.kubernetes.container.name": "main",
                "io.kubernetes.pod.name": self.name,
                "io.kubernetes.pod.namespace": self.namespace,
                "io.kubernetes.pod.uid": self.uid,
            },
            "linux": {
                "resources": {},
                "security_context": self._security,
            },
        }


class Containers:
    """containerd that runs in a guest."""

    unit = "containerd.service"
    # The name of the unit of a container begins with this.
    prefix = "cri-containerd"

    def __init__(self, guest: Guest, systemd: bool = True, nri: bool = True):
        self.guest = guest
        self.systemd = systemd
        self.pods: list[Pod] = []
        self.config = ""
        self._client = build_program(HERE.parent / "cri")
        guest.run(["mkdir", "-p", DIRECTORY])
        (guest.share / "box.tar").write_bytes(make_image())
        self._start(nri)
        self.call("ListPodSandbox", {})

    def scope(self, pod: Pod) -> str:
        """The path of the cgroup of a pod's container, with the driver systemd."""
        return f"{pod.cgroup(systemd=True)}/{self.prefix}-{pod.container}.scope"

    def _start(self, nri: bool) -> None:
        """Have the runtime run, with the image."""
        programs = containerd_programs()
        self._write_files(
            "config.toml",
            CONFIG,
            START,
            programs=programs,
            nri=NRI_SOCKET,
            systemd=json.dumps(self.systemd),
            no_nri=json.dumps(not nri),
        )
        load = f"{programs}/ctr -a {SOCKET} -n k8s.io images import {SHARE}/box.tar"
        self.guest.run(f"systemctl start {self.unit} && {load}", timeout=START_S)

    def _write_files(self, name: str, config: str, start: str, **words: object) -> None:
        """Write a configuration and a unit that starts the runtime, with these words in both."""
        words |= {"directory": DIRECTORY, "socket": SOCKET, "image": IMAGE, "runc": runc_program()}
        self.config = config.format(**words)
        unit = SERVICE.format(start=start.format(**words))
        self.guest.write(f"{DIRECTORY}/{name}", self.config)
        self.guest.write(f"/run/systemd/system/{self.unit}", unit)

    def restart(self) -> None:
        """Restart the runtime; the containers go on meanwhile."""
        self.guest.run(["systemctl", "restart", self.unit], timeout=START_S)

    def calls(self, method: str, requests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Make calls of one method side by side; returns the responses."""
        calls = [{"method": method, "request": request} for request in requests]
        program = [str(self._client), SOCKET]
        timeout = START_S * (1 + len(calls))
        out = self.guest.run(program, input=json.dumps(calls), timeout=timeout).out
        answers = json.loads(out)
        if errors := [answer["error"] for answer in answers if "error" in answer]:
            raise CriError("\n".join(errors))
        return [answer["response"] for answer in answers]

    def call(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        """Make one call; returns the response."""
        return self.calls(method, [request])[0]

    def create(self, *pods: Pod) -> None:
        """Make pods with their containers, which do not run yet."""
        self.pods += pods
        configs = [pod.sandbox_config(self.systemd) for pod in pods]
        answers = self.calls("RunPodSandbox", [{"config": config} for config in configs])
        for pod, answer in zip(pods, answers, strict=True):
            pod.sandbox = answer["pod_sandbox_id"]
        requests = [
            {
                "pod_sandbox_id": pod.sandbox,
                "config": pod.container_config(),
                "sandbox_config": config,
            }
            for pod, config in zip(pods, configs, strict=True)
        ]
        for pod, answer in zip(pods, self.calls("CreateContainer", requests), strict=True):
            pod.container = answer["container_id"]

    def start(self, *pods: Pod) -> None:
        """Start the containers of pods."""
        self.calls("StartContainer", [{"container_id": pod.container} for pod in pods])

    def run(self, *pods: Pod) -> None:
        """Make pods, and start them."""
        self.create(*pods)
        self.start(*pods)

    def state(self, pod: Pod) -> tuple[str, int]:
        """The state of the container of a pod, and its exit code."""
        status = self.call("ContainerStatus", {"container_id": pod.container})["status"]
        return status["state"], status.get("exit_code", 0)

    def is_running(self, pod: Pod) -> bool:
        """Whether the container of a pod runs."""
        return self.state(pod)[0] == "CONTAINER_RUNNING"

    def log(self, pod: Pod) -> str:
        """What the container of a pod has said, each line after its time and its stream."""
        return self.guest.read(f"{LOGS}/{pod.uid}/main.log")

    def execute(self, pod: Pod, *command: str) -> str:
        """Run a command in the container of a pod, as kubectl exec does; returns its output."""
        done = self.call("ExecSync", {"container_id": pod.container, "cmd": command})
        out, err = (base64.b64decode(done.get(key, "")).decode() for key in ("stdout", "stderr"))
        if code := done.get("exit_code", 0):
            raise CriError(f"{' '.join(command)}: exit code {code}: {out}{err}")
        return out

    def stop(self, *pods: Pod) -> None:
        """Kill the containers of pods, as the kubelet does before it stops sandboxes."""
        self.calls("StopContainer", [{"container_id": pod.container} for pod in pods])

    def again(self, pod: Pod) -> str:
        """Give a pod another sandbox, as the kubelet does when the first has died.

        Returns the id of the first, which is stopped, and not removed.
        """
        before = pod.sandbox
        self.call("StopPodSandbox", {"pod_sandbox_id": before})
        pod.attempt += 1
        self.pods.remove(pod)
        self.run(pod)
        return before

    def forget(self, *sandboxes: str) -> None:
        """Stop and remove sandboxes."""
        requests = [{"pod_sandbox_id": sandbox} for sandbox in sandboxes]
        self.calls("StopPodSandbox", requests)
        self.calls("RemovePodSandbox", requests)

    def remove(self, *pods: Pod) -> None:
        """Stop and remove pods, and their cgroups, as the kubelet does."""
        self.stop(*(pod for pod in pods if pod.container))
        self.forget(*(pod.sandbox for pod in pods if pod.sandbox))
        self._remove_cgroups([pod.parent(self.systemd) for pod in pods])
        self.pods = [pod for pod in self.pods if pod not in pods]

    def _remove_cgroups(self, names: list[str]) -> None:
        if self.systemd:
            self.guest.run(["systemctl", "stop", *names])
        else:
            self.guest.run(["rmdir", *(f"/sys/fs/cgroup{name}" for name in names)])

    def close(self) -> None:
        """Remove all pods, and end the runtime."""
        if self.pods:
            self.remove(*self.pods)
        self.guest.run(["systemctl", "stop", self.unit], timeout=START_S)
        if self.systemd:
            self.guest.run(["systemctl", "stop", "kubepods.slice"])
        else:
            self.guest.run("rmdir /sys/fs/cgroup/kubepods/besteffort /sys/fs/cgroup/kubepods")
        self.guest.run(["rm", "-r", DIRECTORY, f"/run/systemd/system/{self.unit}"])


@contextlib.contextmanager
def containers(
    guest: Guest, *, kind: type[Containers] = Containers, **options: bool
) -> Iterator[Containers]:
    """Have a runtime run; pods that are there at the end are removed."""
    runtime = kind(guest, **options)
    try:
        yield runtime
    finally:  # a service is none of what a guest can be cleaned of
        if guest.alive:
            runtime.close()

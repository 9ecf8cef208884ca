# SPDX-License-Identifier: GPL-2.0-only
"""The pods of packaging/kubernetes in containerd, and commands of LVM in the pods of CSI drivers.

The test makes the pods of the manifests, in place of a kubelet.  The programs and libraries of the
node are those of all images.
"""

import contextlib
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from harness.containers import NAMESPACES, Containers, Pod, containers
from harness.guest import CommandError, Guest
from harness.node import DIRECTORY, KUBE_URL, NAME, Cluster, get, node_program
from harness.tool import Tool
from harness.waiting import wait_until
from test_kubernetes import USR, WEIGHT, volumes
from test_kubernetes_page import MANIFESTS, PAGE
from test_node_volumes import inserted, size_of

pytestmark = [
    pytest.mark.guest(systemd=True, icount=True),
    pytest.mark.long("a pod takes an emulated processor seconds, and containerd ten"),
]

GROUP = "topolvm"  # of the example, node.yaml
ENTRYPOINT = "/usr/bin/ioband-node"  # of the image
CONFIG_MAP = "/run/config-map"
OPT = "/opt/ioband"
# The image of lvm-localpv has Alpine's LVM, which makes device nodes without udev.
ALPINE = "/run/alpine"
LVM_CONF = """
devices { types = [ "nullb", 16 ] }
activation { udev_sync = 0 udev_rules = 0 }
"""
LOG_OF_THE_PAGE = ("runtime: connected to containerd", "ioband: available", "insert")
SMALL, LARGE = 16 << 20, 32 << 20


def manifest(name: str) -> dict[str, Any]:
    """The specification of the pods of a DaemonSet."""
    return yaml.safe_load((MANIFESTS / name).read_text())["spec"]["template"]["spec"]


def places(guest: Guest, spec: dict[str, Any]) -> dict[str, str]:
    """The directories of the node that are volumes of a pod; they are there, as for a kubelet."""
    found = {}
    for volume in spec["volumes"]:
        path = volume.get("hostPath", {"path": CONFIG_MAP})
        if path.get("type") == "DirectoryOrCreate":
            guest.run(["mkdir", "-p", path["path"]])
        assert guest.exists(path["path"]), volume
        found[volume["name"]] = path["path"]
    return found


def pod_of(guest: Guest, spec: dict[str, Any], container: dict[str, Any], *args: str) -> Pod:
    """A container of a manifest, in a pod of its own; the arguments are appended to its own."""
    where = places(guest, spec)
    mounts = container["volumeMounts"]
    return Pod(
        container["name"],
        namespace="ioband",
        command=[*container.get("command", [ENTRYPOINT]), *container["args"], *args],
        mounts={**USR, **{where[mount["name"]]: mount["mountPath"] for mount in mounts}},
        readonly=[mount["mountPath"] for mount in mounts if mount.get("readOnly")],
        env={each["name"]: NAME for each in container.get("env", [])},
        privileged=container["securityContext"]["privileged"],
        namespaces={**NAMESPACES, "ipc": "NODE"} if spec.get("hostIPC") else NAMESPACES,
    )


def lvmd_pod() -> Pod:
    """The pod of TopoLVM's lvmd, with the namespaces and the rights of its Helm chart."""
    namespaces = {**NAMESPACES, "pid": "NODE"}
    return Pod("lvmd", mounts=USR, privileged=True, namespaces=namespaces)


def localpv_pod(guest: Guest) -> Pod:
    """The pod of lvm-localpv, with the mounts and the rights of its Helm chart, and the patch."""
    spec = manifest("lvm-localpv.yaml")
    (container,) = spec["containers"]
    patched = {"args": [], "securityContext": {"privileged": True}, **container}
    pod = pod_of(guest, spec, {**patched, "env": []})
    pod.command = Pod.command
    pod.env = {each["name"]: each["value"] for each in container["env"]}
    guest.run(["mkdir", "-p", ALPINE])
    guest.write(f"{ALPINE}/lvm.conf", LVM_CONF)
    pod.mounts |= {"/dev": "/dev", ALPINE: "/etc/lvm"}
    return pod


def prefix_of_the_page() -> list[str]:
    """The prefix that the page has lvmd put before the commands of LVM."""
    (text,) = re.findall(r"\n( +lvm-command-prefix:\n +\[.*\])\n", PAGE)
    return yaml.safe_load(textwrap.dedent(text))["lvm-command-prefix"]


def topolvm(name: str) -> list[list[str]]:
    """How TopoLVM makes, resizes and removes a volume."""
    return [
        ["lvcreate", "-n", name, "-L", f"{SMALL}b", "-W", "y", "-y", GROUP],
        ["lvresize", "-L", f"{LARGE}b", f"{GROUP}/{name}"],
        ["lvremove", "-f", f"/dev/{GROUP}/{name}"],
    ]


def localpv(name: str) -> list[list[str]]:
    """How lvm-localpv does it."""
    return [
        ["lvcreate", "-L", f"{SMALL}b", "-n", name, GROUP, "-y"],
        ["lvextend", f"/dev/{GROUP}/{name}", "-L", f"{LARGE}b"],
        ["lvremove", "-y", f"/dev/{GROUP}/{name}"],
    ]


@contextlib.contextmanager
def cluster(tool: Tool) -> Iterator[Cluster]:
    """An API server, and what the images and the ConfigMap have."""
    guest = tool.guest
    guest.run(["mkdir", "-p", DIRECTORY, CONFIG_MAP])
    guest.write(f"{CONFIG_MAP}/node.yaml", (MANIFESTS / "node.yaml").read_text())
    programs = {ENTRYPOINT: str(node_program()), "/usr/sbin/iobandctl": tool.program}
    for place, program in programs.items():
        guest.run(["install", program, place])
    server = Cluster(guest)
    yield server
    server.close()
    guest.run(["rm", "-r", DIRECTORY, CONFIG_MAP, OPT, ALPINE, *programs])


def change(
    tool: Tool, runtime: Containers, node: Pod, driver: Pod, commands: list[list[str]]
) -> None:
    """Make, resize and remove a volume in the container of a CSI driver."""
    name = f"{GROUP}-new"
    before = set(inserted(tool))
    create, resize, remove = commands
    for command, size in ((create, SMALL), (resize, LARGE)):
        runtime.execute(driver, *command)
        # ioband is there before the CSI driver goes on.
        assert set(inserted(tool)) == before | {name}, runtime.log(node)
        assert size_of(tool.guest, name) == size >> 9
    runtime.execute(driver, *remove)
    assert set(inserted(tool)) == before


def test_the_pods_of_the_daemonset_and_of_csi_drivers(tool: Tool) -> None:
    guest, spec = tool.guest, manifest("daemonset.yaml")
    volumes_of_pods = {f"{GROUP}-a", f"{GROUP}-b"}
    web = Pod("web", {WEIGHT: "300"})
    weights = {"/kubepods.slice": 400, web.cgroup(systemd=True): 300}

    def found() -> dict[str, int]:
        return {row["group"]: row["weight"] for row in tool.json("groups", "--weights")}

    def is_ready() -> bool:
        with contextlib.suppress(CommandError):
            return get(guest, "healthz") == (200, "ok\n")
        return False

    with volumes(tool, GROUP), containers(guest) as runtime, cluster(tool) as api:
        (install,), (main,) = spec["initContainers"], spec["containers"]
        init = pod_of(guest, spec, install)
        runtime.run(init)
        wait_until(guest, lambda: not runtime.is_running(init), "the end of the init container")
        assert runtime.state(init) == ("CONTAINER_EXITED", 0)
        node = pod_of(guest, spec, main, f"--kube-url={KUBE_URL}")
        runtime.run(node)
        wait_until(guest, is_ready, "the pod of the DaemonSet is not ready", 60)
        wait_until(guest, lambda: set(inserted(tool)) == volumes_of_pods, "ioband in the volumes")
        log = runtime.log(node)
        for says in LOG_OF_THE_PAGE:
            assert says in log and f"``{says}``" in PAGE, log
        api.put(web)
        runtime.run(web)
        wait_until(guest, lambda: found() == weights, "the weights")

        lvmd, driver = lvmd_pod(), localpv_pod(guest)
        runtime.run(lvmd, driver)
        change(
            tool, runtime, node, lvmd, [[*prefix_of_the_page(), *each] for each in topolvm("new")]
        )
        change(tool, runtime, node, driver, localpv("new"))

        # Without the pod of the DaemonSet the drivers work on.
        runtime.remove(node)
        runtime.execute(driver, *localpv("late")[0])
        assert size_of(guest, f"{GROUP}-late") == SMALL >> 9
        assert (set(inserted(tool)), found()) == (volumes_of_pods, weights)
        runtime.remove(*runtime.pods)

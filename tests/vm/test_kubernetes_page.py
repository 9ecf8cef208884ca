# SPDX-License-Identifier: GPL-2.0-only
"""The steps of Documentation/howto-kubernetes.rst, with its texts and the manifests it names.

containerd is asked for the pods as the kubelet asks it, and the volumes are made and mounted as a
CSI driver does it.
"""

import re
import textwrap
import tomllib
from typing import Any

import pytest
import yaml
from harness.compete import SETTLE_S
from harness.containers import Pod
from harness.devices import mounted
from harness.module import REPO
from harness.tool import Tool
from harness.waiting import wait_until
from test_kubernetes import Rig, rig_with_one_pool

pytestmark = [
    pytest.mark.guest(systemd=True, icount=True),
    pytest.mark.long("a pod takes an emulated processor seconds, and containerd ten"),
]

PAGE = (REPO / "Documentation/howto-kubernetes.rst").read_text()
MANIFESTS = REPO / "packaging/kubernetes"
INTERVAL_S = 6
# Of one page of iobandctl top, which counts other I/O on the disk too.
TOLERANCE = 0.05


def settings_of(begin: str) -> list[dict[str, Any]]:
    """The literal blocks of the page in TOML, which begin with a text."""
    found = re.findall(rf"::\n\n( +)({re.escape(begin)}.*\n(?:\1.*\n|\n)*)", PAGE)
    return [tomllib.loads(textwrap.dedent(indent + text)) for indent, text in found]


def is_part(part: dict[str, Any], of: dict[str, Any]) -> bool:
    """Whether settings are among others."""
    return all(
        is_part(value, of.get(name, {})) if isinstance(value, dict) else of.get(name) == value
        for name, value in part.items()
    )


def two_pods() -> list[Pod]:
    """The pods of the manifest, as the kubelet has them; their volumes are smaller."""
    pods = []
    for item in yaml.safe_load((MANIFESTS / "two-pods.yaml").read_text())["items"]:
        name = item["metadata"]["name"]
        (container,) = item["spec"]["containers"]
        (mount,) = container["volumeMounts"]
        script = container["args"][0].replace("count=1024", "count=32")
        pods.append(
            Pod(
                name,
                item["metadata"].get("annotations", {}),
                command=[*container["command"], script],
                mounts={f"/run/{name}": mount["mountPath"], "/usr": "/usr"},
            )
        )
    return pods


def shares(rig: Rig) -> list[float]:
    """What iobandctl top prints of the pods, which have one container each."""
    interval = ("--interval", str(INTERVAL_S), "--count", "1")
    (rows,) = rig.tool.documents("top", "--batch", *interval)
    found = {row["group"]: row["share_pct"] for row in rows}
    return [found[rig.runtime.scope(pod)] for pod in rig.runtime.pods]


def test_from_nothing_to_two_pods_with_shares(tool: Tool) -> None:
    guest = tool.guest
    a, b = two_pods()
    with (
        rig_with_one_pool(tool, (MANIFESTS / "node.yaml").read_text(), "topolvm") as rig,
        mounted(guest, "/dev/topolvm/a", point="/run/a"),
        mounted(guest, "/dev/topolvm/b", point="/run/b"),
    ):
        settings = settings_of('[plugins."io.containerd.')
        assert len(settings) == 2
        assert all(is_part(each, tomllib.loads(rig.runtime.config)) for each in settings)

        rig.run(a, b)
        # Each has made its file, and reads it.
        wait_until(guest, lambda: min(rig.bytes_of(a, b)) > 64 << 20, "both pods read", 120)
        guest.sleep(SETTLE_S)
        assert shares(rig) == pytest.approx([75, 25], rel=TOLERANCE)
        weights = {"/kubepods.slice": 400, a.cgroup(True): 300}
        wait_until(guest, lambda: rig.weights() == weights, "the weights of node.yaml and a")

        (edit,) = re.findall(r"kubectl annotate pod a --overwrite (\S+)=(\d+)", PAGE)
        a.annotations = dict([edit])
        rig.cluster.put(a)
        rig.await_weight(a, int(edit[1]))
        assert shares(rig) == pytest.approx([50, 50], rel=TOLERANCE)
        assert rig.cluster.events(a) == rig.cluster.events(b) == []
        rig.runtime.remove(a, b)

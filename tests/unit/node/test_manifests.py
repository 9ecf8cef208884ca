# SPDX-License-Identifier: GPL-2.0-only
"""packaging/kubernetes as a cluster gets it: rendered by kustomize's own library.

The program that renders checks each field against Kubernetes' own types.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness.golang import REPO, build_program

pytestmark = pytest.mark.long(
    "kustomize and the types of Kubernetes are built, which takes minutes"
)

SOURCE = Path(__file__).with_name("render")
MANIFESTS = REPO / "packaging/kubernetes"
NAMESPACE = "ioband"


def render(directory: Path) -> "subprocess.CompletedProcess[str]":
    """Render a kustomization."""
    command = [build_program(SOURCE), directory]
    return subprocess.run(command, text=True, capture_output=True)


def objects_of(directory: Path) -> list[dict[str, Any]]:
    """The objects of a kustomization."""
    done = render(directory)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def objects() -> dict[str, dict[str, Any]]:
    """The objects of the tree, by kind: there is one of each."""
    listed = objects_of(MANIFESTS)
    by_kind = {each["kind"]: each for each in listed}
    assert len(by_kind) == len(listed)
    return by_kind


def pod_of(objects: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The specification of the DaemonSet's pods."""
    return objects["DaemonSet"]["spec"]["template"]["spec"]


def test_all_objects_are_in_the_namespace(objects: dict[str, dict[str, Any]]) -> None:
    clustered = {"Namespace", "ClusterRole", "ClusterRoleBinding"}
    assert set(objects) == clustered | {
        "ServiceAccount",
        "ConfigMap",
        "DaemonSet",
        "NetworkPolicy",
    }
    for kind in set(objects) - clustered:
        assert objects[kind]["metadata"]["namespace"] == NAMESPACE, kind
    assert objects["Namespace"]["metadata"]["name"] == NAMESPACE


def test_the_rights_are_the_least(objects: dict[str, dict[str, Any]]) -> None:
    """Each right has its call in internal/kube, and each call its right."""
    role, binding = objects["ClusterRole"], objects["ClusterRoleBinding"]
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
    ]
    assert binding["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": role["metadata"]["name"],
    }
    account = pod_of(objects)["serviceAccountName"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
    ]
    assert objects["ServiceAccount"]["metadata"]["name"] == account
    sources = (REPO / "tools/ioband-node/internal/kube").glob("[!_]*.go")
    text = "".join(file.read_text() for file in sources if not file.stem.endswith("_test"))
    # Besides these two requests with "get", of the list and its watch, one makes events.
    assert text.count("http.MethodGet") == 2
    assert text.count("http.MethodPost") == 1
    assert text.count("c.do(ctx") + text.count("client.do(ctx") == 3


def test_the_pods_have_the_configuration_and_the_image(
    objects: dict[str, dict[str, Any]],
) -> None:
    """An edit of the configuration gives it another name, and so replaces the pods."""
    config = objects["ConfigMap"]
    assert config["data"] == {"node.yaml": (MANIFESTS / "node.yaml").read_text()}
    name = config["metadata"]["name"]
    assert name.startswith("ioband-node-")
    pod = pod_of(objects)
    assert [each["configMap"]["name"] for each in pod["volumes"] if "configMap" in each] == [name]
    images = {each["image"] for each in pod["containers"] + pod["initContainers"]}
    assert images == {"localhost/ioband-node:latest"}
    assert not pod.get("hostNetwork") and not pod.get("hostPID")


def test_only_the_monitoring_reaches_the_metrics(objects: dict[str, dict[str, Any]]) -> None:
    policy = objects["NetworkPolicy"]["spec"]
    labels = objects["DaemonSet"]["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert policy["policyTypes"] == ["Ingress"]
    (rule,) = policy["ingress"]
    (source,) = rule["from"]
    monitoring = {"kubernetes.io/metadata.name": "monitoring"}
    assert source == {"namespaceSelector": {"matchLabels": monitoring}}
    (port,) = rule["ports"]
    (container,) = pod_of(objects)["containers"]
    numbers = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert f"--metrics=:{numbers[port['port']]}" in container["args"]


def test_the_two_pods_of_the_page(tmp_path: Path) -> None:
    shutil.copy(MANIFESTS / "two-pods.yaml", tmp_path)
    (tmp_path / "kustomization.yaml").write_text("resources: [two-pods.yaml]")
    a, b = objects_of(tmp_path)
    assert (a["metadata"]["name"], b["metadata"]["name"]) == ("a", "b")
    assert a["metadata"]["annotations"] == {"ioband.io/weight": "300"}
    assert a["spec"] == b["spec"]


def test_a_mistake_in_a_manifest_is_found(tmp_path: Path) -> None:
    """Otherwise a field with a wrong name would pass here, and not in a cluster."""
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    file = tmp_path / "manifests/daemonset.yaml"
    file.write_text(file.read_text().replace("hostIPC:", "hostIpc:"))
    done = render(tmp_path / "manifests")
    assert done.returncode == 1
    assert 'unknown field "spec.template.spec.hostIpc"' in done.stderr

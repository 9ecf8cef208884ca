# SPDX-License-Identifier: GPL-2.0-only
"""Pods of a node, made by containerd as the kubelet asks it, and ioband-node beside it."""

import pytest
from harness.containers import Pod, containers
from harness.guest import Guest

pytestmark = pytest.mark.guest(systemd=True)


def test_containerd_runs_a_pod(guest: Guest) -> None:
    with containers(guest) as runtime:
        pod = Pod("one")
        runtime.run(pod)
        assert runtime.is_running(pod)
        assert guest.exists("/var/run/nri/nri.sock")
        directory = f"/sys/fs/cgroup{pod.cgroup(systemd=True)}"
        assert "io" in guest.read(f"{directory}/cgroup.controllers").split()
        assert guest.run(f"cat {directory}/*.scope/cgroup.procs").out
        runtime.remove(pod)
        assert not guest.exists(directory)

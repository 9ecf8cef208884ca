# SPDX-License-Identifier: GPL-2.0-only
"""CRI-O with NRI in a guest, beside Debian's conmon and runc.

CRI-O is in no Debian.  It is built from its module for Go, without the parts that need more
libraries than the one of C: signatures, Btrfs, seccomp and SELinux.
"""

import json
import os
import subprocess
from functools import cache
from pathlib import Path

from .cache import cache_dir, locked, progress
from .containers import DIRECTORY, NRI_SOCKET, START_S, Containers
from .golang import go
from .guest import SHARE

MODULE, VERSION = "github.com/cri-o/cri-o", "v1.34.0"
TAGS = "containers_image_openpgp,exclude_graphdriver_btrfs"
STORAGE = f"{DIRECTORY}/storage"
RUN = f"{DIRECTORY}/run"
# The files of these directories are where they are in a package, but for their root.
CONFIG = """[crio]
root = "{storage}"
runroot = "{run}"
storage_driver = "vfs"
log_dir = "{directory}/log"
version_file = "{directory}/version"
clean_shutdown_file = "{directory}/clean"
[crio.api]
listen = "{socket}"
[crio.runtime]
cgroup_manager = "{driver}"
default_runtime = "runc"
apparmor_profile = "unconfined"
container_exits_dir = "{directory}/exits"
container_attach_socket_dir = "{directory}/attach"
namespaces_dir = "{directory}/namespaces"
pinns_path = "{programs}/pinns"
hooks_dir = []
[crio.runtime.runtimes.runc]
runtime_path = "{runc}"
runtime_root = "{directory}/runc"
monitor_path = "/usr/bin/conmon"
[crio.image]
pause_image = "{image}"
signature_policy = "{directory}/policy.json"
signature_policy_dir = "{directory}/policies"
[crio.network]
network_dir = "{directory}/cni"
[crio.nri]
enable_nri = {nri}
nri_listen = "{nri_socket}"
nri_plugin_dir = "{directory}/nri"
nri_plugin_config_dir = "{directory}/nri"
"""
POLICY = {"default": [{"type": "insecureAcceptAnything"}]}
START = (
    "ExecStart={programs}/crio --config {directory}/crio.conf --config-dir {directory}/crio.conf.d"
)


def _build(out: Path) -> None:
    env = {**os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "1"}
    download = [go(), "mod", "download", "-json", f"{MODULE}@{VERSION}"]
    said = subprocess.run(download, cwd=out, env=env, check=True, stdout=subprocess.PIPE).stdout
    sources = Path(json.loads(said)["Dir"])
    pinns = [str(each) for each in sources.glob("pinns/src/*.c")]
    subprocess.run(["gcc", "-std=c99", "-Os", "-o", out / "pinns", *pinns], check=True)
    build = [go(), "build", "-mod=readonly", "-trimpath", "-buildvcs=false", f"-tags={TAGS}"]
    subprocess.run([*build, "-o", out / "crio", "./cmd/crio"], cwd=sources, env=env, check=True)


@cache
def crio_programs() -> Path:
    """The directory with crio and its helper pinns."""
    out = cache_dir("crio", VERSION)
    with locked("crio"):
        if not (out / "crio").exists():
            progress(f"building CRI-O {VERSION}: minutes")
            _build(out)
    return out


class Crio(Containers):
    """CRI-O that runs in a guest."""

    unit = "crio.service"
    prefix = "crio"

    def _start(self, nri: bool) -> None:
        programs = crio_programs()
        self._write_files(
            "crio.conf",
            CONFIG,
            START,
            programs=programs,
            storage=STORAGE,
            run=RUN,
            driver="systemd" if self.systemd else "cgroupfs",
            nri=json.dumps(nri),
            nri_socket=NRI_SOCKET,
        )
        self.guest.write(f"{DIRECTORY}/policy.json", json.dumps(POLICY))
        load = (
            f"podman --root={STORAGE} --runroot={RUN} --storage-driver=vfs"
            f" load -q --signature-policy={DIRECTORY}/policy.json -i {SHARE}/box.tar"
        )
        self.guest.run(f"{load} && systemctl start {self.unit}", timeout=2 * START_S)

# SPDX-License-Identifier: GPL-2.0-only
"""The image of the DaemonSet, built from the tree as Documentation/howto-kubernetes.rst says.

In place of the image of a registry it is built on a Debian that is made of packages, and the
modules of Go are those of this machine's cache.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from harness.apt import Archive
from harness.cache import cache_dir, locked, progress
from harness.golang import MODULE, REPO, go

pytestmark = pytest.mark.long("a Debian is put together, with compilers in it")

SUITE = "trixie"
BASE = "localhost/debian:trixie"
IMAGE = "localhost/ioband-node:test"
# Nothing is started but by chroot, so that this works where no container can run.
BUILD = "--isolation=chroot --network=host --pull=never --layers=false"


def base_image() -> Path:
    """The root of a small Debian, in the cache."""
    store = cache_dir("images")
    tar = store / f"{SUITE}.tar"
    with locked("images"):
        if not tar.exists():
            progress(f"making an image of {SUITE}")
            unfinished = store / "unfinished.tar"
            archive = Archive(SUITE)
            command = ["mmdebstrap", "--quiet", "--variant=minbase", SUITE, unfinished]
            subprocess.run([*command, archive.sources], check=True)
            unfinished.rename(tar)
    return tar


@dataclass(frozen=True)
class Podman:
    """Podman with a storage of its own."""

    store: Path

    @property
    def options(self) -> list[str]:
        """The options in front of a verb."""
        root, run = self.store / "root", self.store / "run"
        return [f"--root={root}", f"--runroot={run}", "--storage-driver=vfs"]

    def run(self, *args: str | Path) -> str:
        """Run it; returns its output."""
        command = ["podman", *self.options, *args]
        return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout

    def build(self) -> None:
        """Run make node-image."""
        subprocess.run([go(), "mod", "download"], cwd=MODULE, check=True)
        modules = subprocess.run(
            [go(), "env", "GOMODCACHE"], check=True, text=True, stdout=subprocess.PIPE
        ).stdout.strip()
        args = f"{BUILD} --build-arg=BASE={BASE} --volume={modules}:/root/go/pkg/mod:ro"
        command = ["make", "-s", "node-image", f"IMAGE={IMAGE}", "IMAGE_TOOL=podman"]
        command += [f"IMAGE_TOOL_ARGS={' '.join(self.options)}", f"IMAGE_ARGS={args}"]
        env = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
        done = subprocess.run(
            command, cwd=REPO, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert not done.returncode, done.stdout[-5000:]


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    """Podman, with the image of the tree."""
    each = Podman(tmp_path_factory.mktemp("podman"))
    each.run("import", "--quiet", base_image(), BASE)
    each.build()
    yield each
    each.run("rmi", "--force", IMAGE, BASE)


@pytest.fixture(scope="module")
def root(podman: Podman) -> Iterator[Path]:
    """The root of a container of the image, which never runs."""
    container = podman.run("create", "--network=none", IMAGE).strip()
    yield Path(podman.run("mount", container).strip())
    podman.run("umount", container)
    podman.run("rm", container)


def started(root: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run a program of the image."""
    return subprocess.run(["chroot", root, *command], text=True, capture_output=True)


def test_the_image_is_built_from_the_tree(podman: Podman, root: Path) -> None:
    (config,) = json.loads(podman.run("image", "inspect", IMAGE))
    assert config["Config"]["Entrypoint"] == ["/usr/bin/ioband-node"]
    done = started(root, "/usr/sbin/iobandctl", "--version")
    found = re.search(r'^PACKAGE_VERSION="(.*)"', (REPO / "dkms.conf").read_text(), re.M)
    assert found
    assert done.stdout.split()[-1] == found[1], done
    done = started(root, "/usr/bin/ioband-node", "--help")
    assert "-nri-socket" in done.stderr, done
    assert (root / "usr/sbin/kpartx").exists()

    # Neither sources nor compilers are in it.
    for name in ("src", "out", "usr/bin/gcc", "usr/bin/go"):
        assert not (root / name).exists(), name


def test_the_init_container_installs_the_wrapper(root: Path) -> None:
    """The commands of the DaemonSet's manifest, with the programs of the image."""
    daemonset = yaml.safe_load((REPO / "packaging/kubernetes/daemonset.yaml").read_text())
    (container,) = daemonset["spec"]["template"]["spec"]["initContainers"]
    done = started(root, *container["command"], *container["args"])
    assert not done.returncode, done.stderr
    again = started(root, *container["command"], *container["args"])  # an upgrade
    assert not again.returncode, again.stderr
    # Without a process of the DaemonSet the wrapper runs the command alone, which is not here.
    done = started(root, "/opt/ioband/lvm/lvextend", "--version")
    assert done.returncode != 0 and "lvextend" in done.stderr, done
    assert not (root / "opt/ioband/.new").exists()

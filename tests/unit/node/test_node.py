# SPDX-License-Identifier: GPL-2.0-only
"""The tests and the style of tools/ioband-node, and the style of the other programs in Go."""

import subprocess
from pathlib import Path

import pytest
from harness.golang import MODULE, environment, go

REPO = MODULE.parents[1]
MODULES = [MODULE, REPO / "tests/vm/cri", REPO / "tests/unit/node/render"]


def run(*args: str | Path, module: Path = MODULE) -> str:
    """Run a tool of Go in a module; returns its output."""
    done = subprocess.run(args, cwd=module, env=environment(), text=True, capture_output=True)
    if done.returncode:
        pytest.fail(f"{' '.join(map(str, args))}:\n{done.stdout}{done.stderr}", pytrace=False)
    return done.stdout


def test_unit_tests() -> None:
    run(go(), "test", "-vet=off", "./...")


@pytest.mark.long("vet looks through all packages that a module uses, and kustomize is built")
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_vet(module: Path) -> None:
    run(go(), "vet", "./...", module=module)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_format(module: Path) -> None:
    assert run(Path(go()).resolve().parent / "gofmt", "-l", ".", module=module) == ""


def test_packages_use_each_other_downwards_only() -> None:
    """The order is that of the comment in main.go."""
    layers = [
        {"cmd/ioband-node"},
        {"internal/nri", "internal/kube", "internal/metrics"},
        {"internal/node"},
        {"internal/volume", "internal/uevent"},
        {"internal/ioband"},
        {"internal/class", "internal/cgroup", "internal/loop"},
    ]
    own = run(go(), "list", "-m").strip() + "/"
    listing = run(go(), "list", "-f", '{{.ImportPath}} {{join .Imports " "}}', "./...")
    level = {own + name: depth for depth, names in enumerate(layers) for name in names}
    for line in listing.splitlines():
        package, *imports = line.split()
        for name in imports:
            assert not name.startswith(own) or level[name] > level[package], f"{package}: {name}"


def test_statically_linked() -> None:
    """The image is put together from it, and LVM's wrapper runs in images of others."""
    done = subprocess.run(["make", "-s", "ioband-node"], cwd=REPO, text=True, capture_output=True)
    assert not done.returncode, done.stdout + done.stderr
    program = REPO / "build" / "ioband-node"
    said = subprocess.run(["ldd", program], text=True, capture_output=True)
    assert "not a dynamic executable" in said.stdout + said.stderr

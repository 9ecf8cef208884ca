# SPDX-License-Identifier: GPL-2.0-only
"""The kernels of the laboratory can be built, including rarely used variants."""

from dataclasses import replace
from pathlib import Path

import harness.source
import lab.kernel
import pytest
from harness.apt import Package
from harness.kernels import get_kernel
from harness.module import REPO, build_module
from harness.source import get_source
from lab.kernel import (
    VARIANTS,
    KernelError,
    configure_only,
    get_lab_kernel,
    patch_tree,
    read_fragments,
)


@pytest.mark.parametrize(
    "variant", sorted(set(VARIANTS) - {"virtual-time"})
)  # other tests build it
def test_patches_fit_and_kconfig_keeps_the_settings(variant: str, tmp_path: Path) -> None:
    configure_only(variant, tmp_path)


def test_a_setting_that_kconfig_drops_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = read_fragments("debug") | {"CONFIG_KCSAN": "CONFIG_KCSAN=y"}
    monkeypatch.setattr(lab.kernel, "read_fragments", lambda variant: settings)
    with pytest.raises(KernelError, match="dropped these settings:\nCONFIG_KCSAN=y"):
        configure_only("debug", tmp_path)


def test_a_patch_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    other = tmp_path / "arch/um/kernel/tlb.c"
    other.parent.mkdir(parents=True)
    other.write_text("something else\n" * 300)
    with pytest.raises(KernelError, match=r"tlb\.patch does not fit"):
        patch_tree(tmp_path, REPO / "tests/lab/kernel/tlb.patch")


def test_a_kernel_is_built_once_for_its_source_and_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Path] = []

    def build(what: str, source: Path, build: Path) -> None:
        (build / "include/config").mkdir(parents=True)
        (build / "include/config/kernel.release").write_text("7.0-lab\n")
        built.append(build)

    recipe = lab.kernel._Recipe("7.0-1", tmp_path / "7.0-1", {"CONFIG_A": "CONFIG_A=y"})
    monkeypatch.setenv("IOBAND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(lab.kernel, "_check_place", lambda place: None)
    monkeypatch.setattr(lab.kernel, "_configure", lambda settings, source, build: None)
    monkeypatch.setattr(lab.kernel, "_build", build)
    others = (
        recipe,
        recipe,
        replace(recipe, version="7.0-2", source=tmp_path / "7.0-2"),
        replace(recipe, settings={"CONFIG_A": "CONFIG_A=m"}),
        replace(recipe, source=tmp_path / "7.0-1-patched"),
        recipe,
    )
    found = []
    for each in others:
        monkeypatch.setattr(lab.kernel, "_recipe", lambda variant, own=each: own)
        found.append(get_lab_kernel("virtual-time").build)
    assert found[0] == found[1] == found[5] and len(set(found)) == 4
    assert built == [found[0], *found[2:5]]


def test_a_source_with_fewer_directories_is_unpacked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked: list[Path] = []

    def unpack(archive: object, package: object, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        unpacked.append(root)

    newest = Package("linux-source-7.0", "7.0-1", "")
    monkeypatch.setenv("IOBAND_CACHE", str(tmp_path))
    monkeypatch.setattr(harness.source, "Archive", lambda *suite: None)
    monkeypatch.setattr(harness.source, "_look_up", lambda archive: newest)
    monkeypatch.setattr(harness.source, "_unpack_source", unpack)
    _, root = get_source()
    assert get_source() == ("7.0-1", root) and unpacked == [root]
    monkeypatch.setattr(harness.source, "READ", (*harness.source.READ, "sound"))
    assert get_source() == ("7.0-1", root) and unpacked == [root, root]
    assert get_source() == ("7.0-1", root) and unpacked == [root, root]


# The modelled disks, and the modules that tests load.
MODULES = ["lab/disk", "vm/faults", "vm/noclones", "vm/raredisk", "vm/trimdisk", "vm/urgent"]


@pytest.mark.parametrize("module", MODULES)
def test_modules_of_tests_build_without_a_warning(module: str) -> None:
    build_module(get_kernel("newest"), REPO / "tests" / module, strict=True)


@pytest.mark.long("sparse finds mistakes in annotations of modules for tests alone")
@pytest.mark.parametrize("module", MODULES)
def test_sparse_accepts_modules_of_tests(module: str) -> None:
    build_module(get_kernel("6.12"), REPO / "tests" / module, ("W=1", "C=2"), strict=True)

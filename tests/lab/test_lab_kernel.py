# SPDX-License-Identifier: GPL-2.0-only
"""The kernels of the laboratory can be built, also those that only some targets build."""

from pathlib import Path

import lab.kernel
import pytest
from harness.kernels import get_kernel
from harness.module import REPO, build_module
from lab.kernel import VARIANTS, KernelError, configure_only, patch_tree, read_fragments


@pytest.mark.parametrize(
    "variant", sorted(set(VARIANTS) - {"virtual-time"})
)  # which other tests build
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


@pytest.mark.parametrize("module", ["faults", "raredisk", "urgent"])
def test_modules_of_tests_build_without_a_warning(module: str) -> None:
    build_module(get_kernel("newest"), REPO / "tests/vm" / module, strict=True)
    build_module(get_kernel("6.12"), REPO / "tests/vm" / module, ("W=1", "C=2"), strict=True)

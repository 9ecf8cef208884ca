# SPDX-License-Identifier: GPL-2.0-only
"""What the builds of iobandctl and of udev's rules install."""

import re
from pathlib import Path

from toolbuild import (
    SOURCE,
    VERBS,
    Built,
    sh,
)


def test_install(built: Built, tmp_path: Path) -> None:
    where = [f"O={built.output}", f"DESTDIR={tmp_path}/root", "PREFIX=/usr"]
    done = sh("make", "-C", SOURCE, *where, "SANITIZE=1", "install")
    assert not done.returncode, done.stderr
    version = sh(tmp_path / "root/usr/sbin/iobandctl", "--version")
    assert re.fullmatch(r"iobandctl \d+(\.\d+)+\n", version.stdout)
    pages = {f"man8/iobandctl{verb}.8" for verb in ["", "-help", *(f"-{verb}" for verb in VERBS)]}
    man = tmp_path / "root/usr/share/man"
    installed = {str(page.relative_to(man)) for page in man.rglob("*") if page.is_file()}
    assert installed == pages | {"man5/ioband.conf.5"}
    for file in (
        "bash-completion/completions/iobandctl",
        "zsh/site-functions/_iobandctl",
        "fish/vendor_completions.d/iobandctl.fish",
        "dm-ioband/iobandctl.schema.json",
    ):
        assert (tmp_path / "root/usr/share" / file).read_text()
    sh("make", "-C", SOURCE, *where, "uninstall", check=True)
    assert not [path for path in (tmp_path / "root").rglob("*") if path.is_file()]


def test_install_of_rules_and_units(tmp_path: Path) -> None:
    where = ["-C", SOURCE / "../../udev", f"DESTDIR={tmp_path}/root", "PREFIX=/usr"]
    sh("make", *where, "install", check=True)
    usr = tmp_path / "root/usr"
    lib, share = usr / "lib", usr / "share/dm-ioband"
    files = {str(f.relative_to(lib)): f.read_text() for f in lib.rglob("*") if f.is_file()}
    monitoring = SOURCE / "../../monitoring"
    assert {f.name: f.read_text() for f in share.iterdir()} == {
        f.name: f.read_text() for f in monitoring.iterdir()
    }
    assert not re.findall(r"@[A-Z]+@", "".join(files.values()))
    unit = files["systemd/system/iobandctl-watch.service"]
    assert "ExecStart=/usr/sbin/iobandctl watch\n" in unit
    rules = "".join(text for name, text in files.items() if name.endswith(".rules"))
    started = set(re.findall(r"start (\S+@)\S+\.service", rules))
    assert started == {f[15:-8] for f in files if f.endswith("@.service")}
    sh("make", *where, "uninstall", check=True)
    assert not [f for f in usr.rglob("*") if f.is_file()]


def test_rules_run_the_programs_of_the_distribution(tmp_path: Path) -> None:
    """The build sets each path; no Debian path remains."""
    programs = {"SYSTEMCTL": "/usr/bin/systemctl", "LOGGER": "/opt/logger"}
    programs |= {"KPARTX": "/opt/kpartx", "MDADM": "/opt/mdadm"}
    where = ["-C", SOURCE / "../../udev", f"DESTDIR={tmp_path}", "PREFIX=/usr"]
    where += [f"{name}={path}" for name, path in programs.items()]
    sh("make", *where, "install", check=True)
    rules = "".join(f.read_text() for f in tmp_path.rglob("*.rules"))
    run = re.findall(r'(?:RUN\+|TEST!?=)="(/\S*?)[ "]', rules)
    paths = {path for path in run if re.search("bin/|opt/", path)}
    assert paths == {*programs.values(), "/bin/rm"}


def test_a_build_for_users_is_hardened(tmp_path: Path) -> None:
    """The whole relocation table is read-only, and warnings are not errors."""
    done = sh("make", "-n", "-C", SOURCE, f"O={tmp_path}", check=True).stdout
    assert "-Werror" not in done
    link = next(line for line in done.splitlines() if f"-o {tmp_path}/iobandctl" in line)
    options = [word for word in link.split() if re.match("-pie|-fPIE|-Wl|-f(?!s)|-O", word)]
    source, program = tmp_path / "main.c", tmp_path / "program"
    source.write_text("int main(void) { return 0; }\n")
    sh("cc", *options, "-o", program, source, check=True)
    assert "GNU_RELRO" in sh("readelf", "-lW", program, check=True).stdout
    assert re.search("FLAGS.*BIND_NOW", sh("readelf", "-dW", program, check=True).stdout)
    assert re.search("Type: +DYN", sh("readelf", "-h", program, check=True).stdout)

# SPDX-License-Identifier: GPL-2.0-only
"""iobandctl watch and io.latency of a user's cgroups.

No stock kernel of Debian has io.latency; the kernels of the laboratory have.
"""

import re

from harness.cgroup import V2_ROOT, Cgroup
from harness.devices import null_blk
from harness.guest import Guest
from harness.tool import Tool
from harness.waiting import wait_until
from test_tool import created, number_of

# A user makes a cgroup in its own, and sets what a user can; $1: that cgroup, $2: the disk.
AS_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-ec"]
SET = """
mkdir $1/x
echo +io >$1/cgroup.subtree_control
echo "$2 target=1" >$1/x/io.latency
echo 300 >$1/x/io.weight
"""


def settings(tool: Tool) -> dict[str, tuple[int, int | None]]:
    """The weight and the latency target in microseconds of each cgroup with settings."""
    rows = tool.json("groups", "--weights")
    return {row["group"]: (row["weight"], row["latency_us"]) for row in rows}


def delegate(guest: Guest, cgroup: Cgroup) -> None:
    """Give a cgroup to a user, as systemd does it."""
    files = " ".join(f"{cgroup.directory}/cgroup.{name}" for name in ("procs", "subtree_control"))
    guest.run(f"chown 65534:65534 {cgroup.directory} {files}")


def test_a_target_of_a_user_is_ignored(tool: Tool) -> None:
    """The kernel has taken it.  A target of root counts, unless it is below the user's cgroup."""
    guest = tool.guest
    with (
        null_blk(guest) as disk,
        created(tool, "d", disk),
        Cgroup(guest, "system") as system,
        Cgroup(guest, "user") as user,
    ):
        number = number_of(guest, disk)
        delegate(guest, user)
        guest.run([*AS_USER, SET, "sh", user.directory, number])
        assert guest.read(f"{user.directory}/x/io.latency") == f"{number} target=1\n"
        guest.run(["mkdir", f"{user.directory}/y"])
        for path, weight in (("system", 200), ("user", 250), ("user/y", 350)):
            guest.write(f"{V2_ROOT}/{path}/io.latency", f"{number} target=2000")
            guest.write(f"{V2_ROOT}/{path}/io.weight", str(weight))
        watch = guest.start([tool.program, "watch"])
        roots = {"/system": (200, 2000), "/user": (250, 2000)}
        wait_until(guest, lambda: len(settings(tool)) == 4, "no settings")
        assert settings(tool) == roots | {"/user/x": (300, None), "/user/y": (350, None)}
        # While watch runs, in the other order.
        user.remove_below()
        wait_until(guest, lambda: settings(tool) == roots, "the cgroup is left")
        guest.run([*AS_USER, SET, "sh", user.directory, number])
        wait_until(guest, lambda: "/user/x" in settings(tool), "no weight")
        system.set("io.latency", f"{number} target=3000")
        roots["/system"] = (200, 3000)
        expected = roots | {"/user/x": (300, None)}
        wait_until(guest, lambda: settings(tool) == expected, f"not {expected}")
        watch.kill()
        said = watch.wait(check=False).err
        assert len(re.findall("io.latency of cgroup /user/[xy] is ignored", said)) == 1, said
        user.remove_below()

# SPDX-License-Identifier: GPL-2.0-only
"""Runs in the guest: one experiment, described by experiment.json in the working directory.

The results are result.json and fio's logs, in the working directory.
Nothing there may depend on the host: the same experiment leaves the same bytes.
"""

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import load
import peers
import stack


def perform(experiment: dict[str, Any]) -> dict[str, Any]:
    """Set everything up, and run the load."""
    # fio never ends if one of its processes is killed.
    stack.write(Path("/proc/sys/vm/panic_on_oom"), "1")
    for module in experiment["modules"]:
        stack.run("insmod", module)
    disk = stack.create_disk(experiment["disk"])
    for name, value in experiment["queue"].items():
        stack.write(stack.queue(name), value)
    stack.create_cgroups(experiment["groups"])
    devices = stack.create_volumes(experiment["volumes"], disk, experiment["on_lv"])
    peer = peers.Peer(experiment, disk, devices)
    peers.PEERS[experiment["peer"]](peer)
    directories = stack.make_file_systems(experiment["volumes"], peer.devices)
    result = load.run(experiment, peer.devices, directories)
    return {"notes": peer.notes, **result}


def main() -> None:
    """Run the experiment in the given directory (or the current one)."""
    work = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    os.chdir(work)
    experiment = json.loads(Path("experiment.json").read_text())
    try:
        result = perform(experiment)
    except Exception:  # report every error to the host
        traceback.print_exc()
        sys.exit(1)
    Path("result.json").write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()

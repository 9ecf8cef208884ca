# SPDX-License-Identifier: GPL-2.0-only
"""This machine, with a kernel of the laboratory installed.

Commands run in a mount namespace of their own.  There the headers and the modules of the
kernel lie where a package would install them.  The end of the namespace removes all that
is installed in it.
"""

import subprocess

from .kernels import Kernel

# $1: the kernel's tree, $2: its release, $3: a command for the shell.
AS_INSTALLED = """
set -e
mount -t tmpfs tmpfs /mnt
over() { # SOURCE TARGET: what is written to TARGET stays in memory
	mkdir -p "/mnt/upper$2" "/mnt/work$2"
	mount -t overlay -o "lowerdir=$1,upperdir=/mnt/upper$2,workdir=/mnt/work$2" overlay "$2"
}
for directory in /etc /usr /var/cache /var/lib /var/log; do over $directory $directory; done
mount -t tmpfs tmpfs /run
over "$1/usr/src" /usr/src
for directory in "$1/usr/lib/modules/$2" "$1"/usr/lib/linux-kbuild*; do
	mkdir -p "${directory#"$1"}"
	over "$directory" "${directory#"$1"}"
done
eval "$3"
"""


def run_installed(kernel: Kernel, command: str, **variables: object) -> str:
    """Output of a command; $RELEASE is the kernel's, and variables are in the environment."""
    argv = ["unshare", "--mount", "bash", "-c", AS_INSTALLED, "-", kernel.root, kernel.release]
    done = subprocess.run(
        [*argv, command],
        env={
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C",
            "RELEASE": kernel.release,
            **{name: str(value) for name, value in variables.items()},
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout

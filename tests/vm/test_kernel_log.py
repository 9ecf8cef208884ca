# SPDX-License-Identifier: GPL-2.0-only
"""Messages of real kernels that fail a test, and messages that do not."""

from harness.kernel_log import complaints

BAD = """\
WARNING: CPU: 1 PID: 412 at drivers/md/dm-ioband/dispatch.c:87 release+0x5a/0x90 [dm_ioband]
WARNING: possible circular locking dependency detected
WARNING: possible recursive locking detected
WARNING: inconsistent lock state
WARNING: suspicious RCU usage
INFO: trying to register non-static key.
BUG: Invalid wait context ]
BUG: sleeping function called from invalid context at include/linux/percpu-rwsem.h:49
BUG: scheduling while atomic: fio/412/0x00000002
BUG: kernel NULL pointer dereference, address: 0000000000000008
BUG: unable to handle page fault for address: ffffc900001b9ff8
BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 43s!
BUG: Bad page state in process fio  pfn:04e21
BUG ioband_io (Tainted: G OE): Objects remaining in ioband_io on __kmem_cache_shutdown()
BUG kmalloc-64 (Not tainted): Right Redzone overwritten
kernel BUG at drivers/md/dm.c:614!
Oops: 0002 [#1] PREEMPT SMP NOPTI
general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1]
Call Trace:
refcount_t: underflow; use-after-free.
list_add corruption. prev->next should be next (ffff888004d3f0a8), but was ffff888004d3f0c8.
list_del corruption, ffff888004d3f0a8->next is LIST_POISON1 (dead000000000100)
list_add double add: new=ffff888004d3f0a8, prev=ffff888004d3f0a8, next=ffff888004d3f0c8.
INFO: task dmsetup:412 blocked for more than 60 seconds.
INFO: task kworker/u4:2:41 blocked for more than 120 seconds.
INFO: rcu_preempt detected stalls on CPUs/tasks:
rcu: INFO: rcu_sched self-detected stall on CPU
rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-.... } 21 jiffies s: 325
rcu: rcu_preempt kthread starved for 15002 jiffies! g-1095 f0x0 RCU_GP_WAIT_FQS(5) ->cpu=0
watchdog: BUG: soft lockup - CPU#0 stuck for 53s! [kworker/0:1:11]
watchdog: Watchdog detected hard LOCKUP on cpu 1
BUG: KASAN: slab-use-after-free in ioband_queue_run+0x1c4/0x3a0 [dm_ioband]
BUG: KCSAN: data-race in ioband_map / ioband_tick
UBSAN: shift-out-of-bounds in drivers/md/dm-ioband/sched/core.c:312:9
ODEBUG: free active (active state 0) object type: timer_list hint: tick+0x0/0x60 [dm_ioband]
kmemleak: 1 new suspicious memory leaks (see /sys/kernel/debug/kmemleak)
device-mapper: ioctl: error adding target to table
device-mapper: table: 253:0: ioband: Device lookup failed
device-mapper: core: Invalid table
device-mapper: ioband: 253:0: message: weight 'x': must be a whole number
device-mapper: ioband: 253:0: message: no memory
device-mapper: ioband: p: kept the pool's own: slice=20: other devices are in pool 'p'
blk_update_request: I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2
Buffer I/O error on dev dm-0, logical block 0, async page read
EXT4-fs error (device dm-0): ext4_lookup:1851: inode #2: comm ls: iget: checksum invalid
EXT4-fs warning (device dm-0): ext4_end_bio:343: I/O error 10 writing to inode 12
XFS (dm-0): Metadata corruption detected at xfs_agf_read_verify+0xe3/0x170, xfs_agf block 0x1
XFS (dm-0): metadata I/O error in "xfs_buf_ioend+0x113/0x3d0" at daddr 0x2 len 1 error 5
XFS (dm-0): Filesystem has been shut down due to log error (0x2).
BTRFS error (device dm-0): bdev /dev/mapper/d errs: wr 0, rd 0, flush 0, corrupt 1, gen 0
BTRFS critical (device dm-0): corrupt leaf: root=5 block=30457856 slot=4
BTRFS: error (device dm-0) in btrfs_commit_transaction:2466: errno=-5 IO failure
(kernel messages were overwritten before they were read)
""".splitlines()

HARMLESS = """\
Linux version 6.1.0-32-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) 12.2.0)
Command line: console=ttyS0 oops=panic watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=60
Kernel command line: console=ttyS0 panic=-1 sysctl.kernel.hung_task_timeout_secs=60 # BUG: no
rcu: Preemptible hierarchical RCU implementation.
rcu: \tRCU CPU stall warnings timeout set to 60 (rcu_cpu_stall_timeout).
rcu: \tRCU calculated value of scheduler-enlistment delay is 25 jiffies.
BIOS-e820: [mem 0x0000000000000000-0x000000000009fbff] usable
DMI: QEMU Standard PC (i440FX + PIIX, 1996), BIOS 1.16.2-debian-1.16.2-1 04/01/2014
clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable
sched: RT throttling activated
random: crng init done
sd 0:0:0:0: [sda] Synchronize Cache(10) failed: Result: hostbyte=DID_BAD_TARGET
sd 0:0:0:0: [sda] Assuming drive cache: write through
dm_ioband: loading out-of-tree module taints kernel.
dm_ioband: module verification failed: signature and/or required key missing - tainting kernel
device-mapper: uevent: version 1.0.3
device-mapper: ioctl: 4.47.0-ioctl (2022-07-28) initialised: dm-devel@redhat.com
device-mapper: ioband: device '259:0': DAX is not offered above: it makes no bios to share by
EXT4-fs (dm-0): mounted filesystem with ordered data mode. Quota mode: none.
XFS (dm-0): Mounting V5 Filesystem
XFS (dm-0): Ending clean mount
BTRFS info (device dm-0): using crc32c (crc32c-intel) checksum algorithm
test test_errors_reach_who_asked_and_nobody_else[6.1]
""".splitlines()


def test_it_is_complained_of() -> None:
    assert len(BAD) > 40
    assert [line for line in BAD if complaints([f"[   12.345678] {line}"]) == []] == []


def test_it_is_not_complained_of() -> None:
    assert complaints(f"[    0.000000] {line}" for line in HARMLESS) == []


def test_what_is_expected_is_not_complained_of() -> None:
    assert complaints(BAD, ["Oops", ""]) == []
    lines = ["EXT4-fs error (device dm-0): a", "EXT4-fs error (device dm-1): b"]
    assert complaints(lines, ["device dm-1"]) == lines[:1]
    assert complaints(lines, ["XFS"]) == lines

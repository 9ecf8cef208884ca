# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest with systemd (sourced by its first process, which becomes systemd): the host's
# own units and generators are masked, and of the packages' units only KEEP runs.  root/
# in the shared directory is laid over / first: a test configures the next boot there.
# Each process costs a tenth of a second here, so the script starts few.

# Units that targets of the boot want; all others that are wanted are masked.
KEEP=" dbus.service dbus.socket systemd-journald.service systemd-journald.socket \
systemd-journald-dev-log.socket systemd-udevd.service systemd-udevd-control.socket \
systemd-udevd-kernel.socket systemd-udev-trigger.service systemd-tmpfiles-setup-dev.service \
cryptsetup.target "
# The targets that the boot reaches.
TARGETS="sysinit basic sockets timers paths local-fs multi-user getty"
# Units that packages enable on a Debian system.
ENABLE=(blk-availability.service lvm2-lvmpolld.socket dm-event.socket)
# Other devices of the machine are not needed, and their drivers take long to load.
SUBSYSTEMS="-s block -s misc -s virtio -s virtio-ports -s scsi"

here=${0%/*}
units=/etc/systemd/system
wants=$units/sysinit.target.wants
few=$units/systemd-udev-trigger.service.d
# A host in a container has such files, and systemd would detect a container by them.
rm -rf /etc/systemd /.dockerenv /run/.containerenv /var/lib/systemd /var/log/journal
mkdir -p $wants $few $units-generators
# An empty file masks a unit or a generator.
: >$units/systemd-remount-fs.service
: >/etc/crypttab
for target in $TARGETS; do
	for unit in "/lib/systemd/system/$target.target.wants"/*; do
		unit=${unit##*/}
		[[ $KEEP == *" $unit "* ]] || : >"$units/$unit"
	done
done
for generator in /lib/systemd/system-generators/*; do
	generator=${generator##*/}
	[[ $generator == systemd-@(fstab|cryptsetup)-generator ]] || : >"$units-generators/$generator"
done
ln -s -t $wants "${ENABLE[@]/#//lib/systemd/system/}" $units/lab-agent.service
printf '%s\n' "[Service]" "ExecStart=" "ExecStart=-udevadm trigger --action=add $SUBSYSTEMS" \
	>$few/few.conf
printf '%s\n' "[Manager]" "DefaultTimeoutStartSec=60" "DefaultTimeoutStopSec=60" \
	"DefaultDeviceTimeoutSec=240" \
	>/etc/systemd/system.conf
printf '%s\n' "[Unit]" "Description=Hands of the laboratory" "DefaultDependencies=no" "IgnoreOnIsolate=yes" \
	'Requires=dev-virtio\x2dports-agent.device' 'After=dev-virtio\x2dports-agent.device' \
	"[Service]" "Environment=HOME=/root LC_ALL=C.UTF-8 PATH=$PATH" \
	"ExecStart=/usr/bin/python3 -S $here/guest_agent.py /dev/virtio-ports/agent" \
	"OOMScoreAdjust=-1000" "TasksMax=infinity" >$units/lab-agent.service
echo 2bdba5e0a5cb4c5b8a5d4e4cba9dbb0f >/etc/machine-id
[ ! -d /run/share/root ] || cp -a /run/share/root/. /
exec /lib/systemd/systemd --unit=multi-user.target

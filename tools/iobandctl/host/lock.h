/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_LOCK_H
#define IOBANDCTL_LOCK_H

/**
 * struct lock - a file that is locked
 * @name: its name in the directory; NULL if it is not
 * @directory: the descriptor of the directory
 * @fd: that of the file
 */
struct lock {
	char *name;
	int directory;
	int fd;
};

/**
 * struct locks - what keeps others from changing a device
 * @own: against another iobandctl
 * @group: against LVM
 */
struct locks {
	struct lock own;
	struct lock group;
};

int lock_changes(struct lock *lock);
void unlock(struct lock *lock);
int lock_device(const char *name, struct locks *locks);
void unlock_device(struct locks *locks);

#endif

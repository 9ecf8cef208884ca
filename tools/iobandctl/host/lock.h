/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IOBANDCTL_LOCK_H
#define IOBANDCTL_LOCK_H

/* A file that is locked. */
struct lock {
	char *name;	/* its name in the directory; NULL if it is not */
	int directory;	/* the descriptor of the directory */
	int fd;
};

/* What keeps others from changing a device. */
struct locks {
	struct lock own;	/* against another iobandctl */
	struct lock group;	/* against LVM */
};

int lock_changes(struct lock *lock);
void unlock(struct lock *lock);
int lock_device(const char *name, struct locks *locks);
void unlock_device(struct locks *locks);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* Data written to a disk: pages by number; unwritten pages are absent. */
#ifndef LAB_DISK_STORE_H
#define LAB_DISK_STORE_H

#include <linux/xarray.h>

struct request;

struct lab_store {
	struct xarray pages;
};

void lab_store_init(struct lab_store *store);
void lab_store_free(struct lab_store *store);
bool lab_store_write(struct lab_store *store, struct request *rq);
void lab_store_read(struct lab_store *store, struct request *rq);

#endif /* LAB_DISK_STORE_H */

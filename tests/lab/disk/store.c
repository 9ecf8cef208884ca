// SPDX-License-Identifier: GPL-2.0-only
/*
 * Data written to a disk.  Concurrent requests to the same block have no order on which a
 * user relies.  So only the lock of the array is needed.
 */
#include <linux/blk-mq.h>
#include <linux/bvec.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/mm.h>

#include "store.h"

void lab_store_init(struct lab_store *store)
{
	xa_init_flags(&store->pages, XA_FLAGS_LOCK_IRQ);
}

void lab_store_free(struct lab_store *store)
{
	unsigned long index;
	struct page *page;

	xa_for_each(&store->pages, index, page)
		__free_page(page);
	xa_destroy(&store->pages);
}

/* The page, allocated if absent; NULL without memory. */
static struct page *lab_store_page(struct lab_store *store, unsigned long index)
{
	struct page *page = xa_load(&store->pages, index), *old;

	if (page)
		return page;
	page = alloc_page(GFP_ATOMIC | __GFP_ZERO | __GFP_NOWARN);
	if (!page)
		return NULL;
	old = xa_cmpxchg_irq(&store->pages, index, NULL, page, GFP_ATOMIC | __GFP_NOWARN);
	if (!old)
		return page;
	__free_page(page);
	return xa_is_err(old) ? NULL : old;
}

/* The length of the part of @bv, at @byte of the disk, that lies in one page. */
static unsigned int lab_in_page(u64 byte, unsigned int left)
{
	return min_t(u64, left, PAGE_SIZE - offset_in_page(byte));
}

static bool lab_store_put(struct lab_store *store, u64 byte, const struct bio_vec *bv)
{
	unsigned int done, part;
	struct page *page;

	for (done = 0; done < bv->bv_len; done += part) {
		part = lab_in_page(byte + done, bv->bv_len - done);
		page = lab_store_page(store, (byte + done) >> PAGE_SHIFT);
		if (!page)
			return false;
		memcpy_page(page, offset_in_page(byte + done), bv->bv_page, bv->bv_offset + done,
			    part);
	}
	return true;
}

static void lab_store_get(struct lab_store *store, u64 byte, const struct bio_vec *bv)
{
	unsigned int done, part;
	struct page *page;

	for (done = 0; done < bv->bv_len; done += part) {
		part = lab_in_page(byte + done, bv->bv_len - done);
		page = xa_load(&store->pages, (byte + done) >> PAGE_SHIFT);
		if (page)
			memcpy_page(bv->bv_page, bv->bv_offset + done, page,
				    offset_in_page(byte + done), part);
		else
			memzero_page(bv->bv_page, bv->bv_offset + done, part);
	}
}

/**
 * lab_store_write() - keep the data of a write
 * @store: the store
 * @rq: any request; only writes have data to keep
 *
 * Return: false if there is no memory.
 */
bool lab_store_write(struct lab_store *store, struct request *rq)
{
	u64 byte = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
	struct req_iterator iter;
	struct bio_vec bv;

	if (req_op(rq) != REQ_OP_WRITE)
		return true;
	rq_for_each_segment(bv, rq, iter) {
		if (!lab_store_put(store, byte, &bv))
			return false;
		byte += bv.bv_len;
	}
	return true;
}

/**
 * lab_store_read() - copy the data of a read
 * @store: the store
 * @rq: a read
 */
void lab_store_read(struct lab_store *store, struct request *rq)
{
	u64 byte = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
	struct req_iterator iter;
	struct bio_vec bv;

	rq_for_each_segment(bv, rq, iter) {
		lab_store_get(store, byte, &bv);
		byte += bv.bv_len;
	}
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * No memory for device-mapper's clones of bios: allocations by pools of objects of their size fail,
 * so that only the reserves of the pools are left.  Bios of other layers are smaller.
 */
#include <linux/kprobes.h>
#include <linux/mempool.h>
#include <linux/module.h>
#include <linux/slab.h>

#define CLONE_MIN	330
#define CLONE_MAX	1000

static atomic_t failures;

static int failures_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&failures));
}

static const struct kernel_param_ops failures_ops = { .get = failures_get };
module_param_cb(failures, &failures_ops, NULL, 0444);

static noinline notrace void *no_object(void)
{
	return NULL;
}

/* At the entry of mempool_alloc_slab(gfp, cache): let it return NULL. */
static int fail(struct kprobe *probe, struct pt_regs *regs)
{
	const unsigned int size = kmem_cache_size((struct kmem_cache *)regs->si);

	if (size < CLONE_MIN || size > CLONE_MAX)
		return 0;
	atomic_inc(&failures);
	regs->ip = (unsigned long)no_object;
	return 1;
}

static struct kprobe probe = { .symbol_name = "mempool_alloc_slab", .pre_handler = fail };

static int __init noclones_init(void)
{
	return register_kprobe(&probe);
}

static void __exit noclones_exit(void)
{
	unregister_kprobe(&probe);
}

module_init(noclones_init);
module_exit(noclones_exit);

MODULE_DESCRIPTION("No memory for device-mapper's clones of bios");
MODULE_LICENSE("GPL");

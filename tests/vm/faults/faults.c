// SPDX-License-Identifier: GPL-2.0-only
/*
 * One fault of each kind that the detectors of the kernels "debug" and "rt" find: the module's
 * parameter selects the fault that the module makes while it loads, so that a test
 * can check the detector's report.
 */
#include <linux/delay.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

static char *fault = "none";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "the mistake to make");

static uint seconds = 5;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "how long what takes too long takes");

/* Hides the deliberate faults from the compiler. */
static void *hide(void *pointer)
{
	OPTIMIZER_HIDE_VAR(pointer);
	return pointer;
}

static void use_after_free(void)
{
	char *memory = hide(kmalloc(64, GFP_KERNEL));
	char *stale = hide(memory);

	kfree(memory);
	READ_ONCE(*stale);
}

static void out_of_bounds(void)
{
	char *memory = hide(kmalloc(64, GFP_KERNEL));

	if (memory)
		WRITE_ONCE(memory[64], 1);
	kfree(memory);
}

static void leak(void)
{
	unsigned int count;

	/* Several, because an old pointer to one of them may be left on a stack. */
	for (count = 0; count < 8; count++)
		hide(kmalloc(1000, GFP_KERNEL));
}

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static void lock_order(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void sleep_in_atomic(void)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
}

/* A mistake with PREEMPT_RT alone. */
static void lock_in_atomic(void)
{
	static DEFINE_SPINLOCK(lock);

	preempt_disable();
	spin_lock(&lock);
	spin_unlock(&lock);
	preempt_enable();
}

static void rcu_unprotected(void)
{
	static void __rcu *pointer;

	hide(rcu_dereference(pointer));
}

static void list_twice(void)
{
	LIST_HEAD(list);
	LIST_HEAD(entry);

	list_add(&entry, &list);
	list_add(&entry, &list);
}

static void never(struct timer_list *timer)
{
}

static void free_active_timer(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, never, 0);
	mod_timer(timer, jiffies + 1000 * HZ);
	kfree(timer);
}

static void shift_too_far(void)
{
	int by = 40;

	OPTIMIZER_HIDE_VAR(by);
	by = 1 << by;
	OPTIMIZER_HIDE_VAR(by);
}

static void hang(void)
{
	schedule_timeout_uninterruptible(seconds * HZ);
}

static void hog(void)
{
	preempt_disable();
	mdelay(seconds * 1000);
	preempt_enable();
}

static void none(void)
{
}

static const struct {
	const char *name;
	void (*make)(void);
} faults[] = {
	{ "none", none },
	{ "use-after-free", use_after_free },
	{ "out-of-bounds", out_of_bounds },
	{ "leak", leak },
	{ "lock-order", lock_order },
	{ "sleep-in-atomic", sleep_in_atomic },
	{ "lock-in-atomic", lock_in_atomic },
	{ "rcu-unprotected", rcu_unprotected },
	{ "list-twice", list_twice },
	{ "free-active-timer", free_active_timer },
	{ "shift-too-far", shift_too_far },
	{ "hang", hang },
	{ "hog", hog },
};

static int __init faults_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strcmp(faults[i].name, fault))
			continue;
		faults[i].make();
		return 0;
	}
	pr_err("faults: there is no fault '%s'\n", fault);
	return -EINVAL;
}

static void __exit faults_exit(void)
{
}

module_init(faults_init);
module_exit(faults_exit);

MODULE_DESCRIPTION("Mistakes that the kernel's detectors find");
MODULE_LICENSE("GPL");

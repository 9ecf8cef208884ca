/* SPDX-License-Identifier: GPL-2.0-only */
/* The callbacks of an augmented tree, as the kernel's macro of this name defines them. */
#ifndef SHIM_LINUX_RBTREE_AUGMENTED_H
#define SHIM_LINUX_RBTREE_AUGMENTED_H

#include <linux/rbtree.h>

#define RB_DECLARE_CALLBACKS(linkage, name, type, member, sum, sum_up)			\
static inline void name ## _propagate(struct rb_node *node, struct rb_node *stop)	\
{											\
	while (node != stop && !sum_up(rb_entry(node, type, member), true))		\
		node = node->parent;							\
}											\
static inline void name ## _copy(struct rb_node *old, struct rb_node *new)		\
{											\
	rb_entry(new, type, member)->sum = rb_entry(old, type, member)->sum;		\
}											\
static inline void name ## _rotate(struct rb_node *old, struct rb_node *new)		\
{											\
	name ## _copy(old, new);							\
	sum_up(rb_entry(old, type, member), false);					\
}											\
linkage const struct rb_augment_callbacks name = {					\
	.propagate = name ## _propagate, .copy = name ## _copy, .rotate = name ## _rotate,	\
};

#endif /* SHIM_LINUX_RBTREE_AUGMENTED_H */

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_RBTREE_H
#define SHIM_LINUX_RBTREE_H

/*
 * The interface of the kernel's red-black tree over a treap: a binary search
 * tree by order and a heap by random priority, so balanced whatever the order
 * of insertions.  Counts the steps it takes.
 */
#include <linux/container_of.h>
#include <linux/types.h>

struct rb_node {
	struct rb_node *parent;
	struct rb_node *rb_left;
	struct rb_node *rb_right;
	u32 priority;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
	struct rb_node *rb_leftmost;
};

#define RB_ROOT			((struct rb_root) {})
#define RB_ROOT_CACHED		((struct rb_root_cached) {})
#define RB_EMPTY_ROOT(root)	(!(root)->rb_node)
#define RB_EMPTY_NODE(node)	((node)->parent == (node))
#define RB_CLEAR_NODE(node)	((node)->parent = (node))

#define rb_entry(ptr, type, member)	container_of(ptr, type, member)
#define rb_first_cached(root)		((root)->rb_leftmost)

static inline struct rb_node *rb_next(const struct rb_node *node)
{
	struct rb_node *next;

	shim_steps++;
	if (node->rb_right) {
		for (next = node->rb_right; next->rb_left; next = next->rb_left)
			shim_steps++;
		return next;
	}
	for (next = node->parent; next && node == next->rb_right; next = next->parent) {
		shim_steps++;
		node = next;
	}
	return next;
}

/* Put @new, which may be NULL, in the place of @old. */
static inline void shim_rb_replace(struct rb_root *root, struct rb_node *old, struct rb_node *new)
{
	struct rb_node *parent = old->parent;

	if (!parent)
		root->rb_node = new;
	else if (parent->rb_left == old)
		parent->rb_left = new;
	else
		parent->rb_right = new;
	if (new)
		new->parent = parent;
}

/* Exchange @node with its parent, keeping the order. */
static inline void shim_rb_rotate_up(struct rb_root *root, struct rb_node *node)
{
	struct rb_node *parent = node->parent;
	struct rb_node *inner;

	shim_steps++;
	shim_rb_replace(root, parent, node);
	if (parent->rb_left == node) {
		inner = node->rb_right;
		parent->rb_left = inner;
		node->rb_right = parent;
	} else {
		inner = node->rb_left;
		parent->rb_right = inner;
		node->rb_left = parent;
	}
	if (inner)
		inner->parent = parent;
	parent->parent = node;
}

/* Callbacks for the sums of subtrees, as in the kernel's rbtree_augmented.h. */
struct rb_augment_callbacks {
	void (*propagate)(struct rb_node *node, struct rb_node *stop);
	void (*copy)(struct rb_node *old, struct rb_node *new);
	void (*rotate)(struct rb_node *old, struct rb_node *new);
};

#define rb_parent(node) (shim_steps++, (node)->parent)

static inline void rb_link_node(struct rb_node *node, struct rb_node *parent,
				struct rb_node **link)
{
	static u32 random = 2463534242U;

	random ^= random << 13;
	random ^= random >> 17;
	random ^= random << 5;
	*node = (struct rb_node) { .parent = parent, .priority = random };
	*link = node;
}

static inline void rb_insert_augmented_cached(struct rb_node *node, struct rb_root_cached *tree,
					      bool leftmost,
					      const struct rb_augment_callbacks *augment)
{
	if (leftmost)
		tree->rb_leftmost = node;
	while (node->parent && node->parent->priority < node->priority) {
		struct rb_node *parent = node->parent;

		shim_rb_rotate_up(&tree->rb_root, node);
		if (augment)
			augment->rotate(parent, node);
	}
}

static inline void rb_erase_augmented_cached(struct rb_node *node, struct rb_root_cached *tree,
					     const struct rb_augment_callbacks *augment)
{
	if (tree->rb_leftmost == node)
		tree->rb_leftmost = rb_next(node);
	while (node->rb_left && node->rb_right) {
		struct rb_node *child = node->rb_left->priority > node->rb_right->priority ?
					node->rb_left : node->rb_right;

		shim_rb_rotate_up(&tree->rb_root, child);
		if (augment)
			augment->rotate(node, child);
	}
	shim_rb_replace(&tree->rb_root, node, node->rb_left ? node->rb_left : node->rb_right);
	if (augment && node->parent)
		augment->propagate(node->parent, NULL);
}

/* After all that are not greater, as the kernel's does. */
static inline struct rb_node *rb_add_cached(struct rb_node *node, struct rb_root_cached *tree,
					    bool (*less)(struct rb_node *, const struct rb_node *))
{
	struct rb_node **link = &tree->rb_root.rb_node;
	struct rb_node *parent = NULL;
	bool leftmost = true;

	while (*link) {
		shim_steps++;
		parent = *link;
		if (less(node, parent)) {
			link = &parent->rb_left;
		} else {
			link = &parent->rb_right;
			leftmost = false;
		}
	}
	rb_link_node(node, parent, link);
	rb_insert_augmented_cached(node, tree, leftmost, NULL);
	return leftmost ? node : NULL;
}

static inline void rb_erase_cached(struct rb_node *node, struct rb_root_cached *tree)
{
	rb_erase_augmented_cached(node, tree, NULL);
}

#endif /* SHIM_LINUX_RBTREE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of QEMU's interface for plugins that accesses.c uses: version 1, of QEMU 6.0 and later.
 * QEMU's documentation has it; Debian's packages do not install its header.
 */
#ifndef BENCH_QEMU_PLUGIN_H
#define BENCH_QEMU_PLUGIN_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define QEMU_PLUGIN_VERSION	1

/* Registers that a callback uses. */
#define QEMU_NO_REGS		0
/* Accesses to memory that a callback is for. */
#define QEMU_READS_AND_WRITES	3

struct qemu_info {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	int smp_vcpus;
	int max_vcpus;
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;

typedef void on_reset(__u64 id);
typedef void on_translation(__u64 id, struct qemu_plugin_tb *tb);
typedef void on_execution(unsigned int cpu, void *data);
typedef void on_access(unsigned int cpu, __u32 info, __u64 addr, void *data);

void qemu_plugin_reset(__u64 id, on_reset *call);
void qemu_plugin_register_vcpu_tb_trans_cb(__u64 id, on_translation *call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, on_execution *call, int regs,
					  void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, on_access *call, int regs,
				      int kind, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
__u64 qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
bool qemu_plugin_mem_is_store(__u32 info);

#endif /* BENCH_QEMU_PLUGIN_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin of QEMU that records which CPU reads and writes which memory of the kernel.
 *
 * Arguments: control=FIFO, records=FILE.  A number that is written to the FIFO begins the recording
 * of as many instructions of each CPU.  When all CPUs have executed them, or after a while, the
 * records are in FILE, which appears at once.  Until then the guest runs at its usual speed, since
 * its code is translated anew for the recording.  There is one recording only: QEMU 7.2 uses
 * callbacks of accesses to memory after their code was dropped.
 */
#include "qemu_plugin.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* The kernel's half of the address space of x86-64. */
#define KERNEL_BASE	0xffff800000000000ULL
#define MAX_CPUS	64
#define WAIT_S		120

/* Before the recording, one of so many user addresses has a look for orders. */
#define LOOK_BYTES	64

/* As in the file; in the order of the machine. */
struct access {
	__u64 insn;			/* address of the instruction */
	__u64 addr;
	__u32 at;			/* instructions of this CPU since the begin */
	__u16 cpu;
	__u16 store;
};

/* Written by the thread of the CPU while a recording is in progress. */
struct cpu {
	struct access *accesses;
	size_t count;
	__u64 at;
	bool done;
};

static struct cpu cpus[MAX_CPUS];
static int nr_cpus;
static __u64 plugin;
static __u64 length;		/* instructions to record; 0: none */
static bool begun;		/* the code is to be translated anew */
static const char *control, *records;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void translate(__u64 id, struct qemu_plugin_tb *tb);

static void begin_anew(__u64 id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
}

/* QEMU drops translated code at the request of the thread of a CPU only. */
static void look(unsigned int index, void *data)
{
	(void)index;
	(void)data;
	if (__atomic_load_n(&begun, __ATOMIC_RELAXED) &&
	    __atomic_exchange_n(&begun, false, __ATOMIC_SEQ_CST))
		qemu_plugin_reset(plugin, begin_anew);
}

static void count_insns(unsigned int index, void *data)
{
	const __u64 end = __atomic_load_n(&length, __ATOMIC_ACQUIRE);
	struct cpu *cpu = &cpus[index];

	if (!end)
		return;
	cpu->at += (unsigned long)data;
	if (cpu->at >= end)
		__atomic_store_n(&cpu->done, true, __ATOMIC_RELEASE);
}

static void note_access(unsigned int index, __u32 info, __u64 addr, void *insn)
{
	const __u64 end = __atomic_load_n(&length, __ATOMIC_ACQUIRE);
	struct cpu *cpu = &cpus[index];

	if (!end || cpu->at >= end || addr < KERNEL_BASE || cpu->count == 2 * end)
		return;
	cpu->accesses[cpu->count++] = (struct access) {
		.insn = (unsigned long)insn,
		.addr = addr,
		.at = cpu->at,
		.cpu = index,
		.store = qemu_plugin_mem_is_store(info),
	};
}

static void translate(__u64 id, struct qemu_plugin_tb *tb)
{
	const size_t count = qemu_plugin_tb_n_insns(tb);
	const __u64 first = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));

	(void)id;
	if (!__atomic_load_n(&length, __ATOMIC_ACQUIRE)) {
		if (first < KERNEL_BASE && first % LOOK_BYTES == 0)
			qemu_plugin_register_vcpu_tb_exec_cb(tb, look, QEMU_NO_REGS, NULL);
		return;
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, count_insns, QEMU_NO_REGS, (void *)count);
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const unsigned long at = qemu_plugin_insn_vaddr(insn);

		if (at >= KERNEL_BASE)
			qemu_plugin_register_vcpu_mem_cb(insn, note_access, QEMU_NO_REGS,
							 QEMU_READS_AND_WRITES, (void *)at);
	}
}

static void begin(__u64 insns)
{
	for (int i = 0; i < nr_cpus; i++) {
		struct cpu *cpu = &cpus[i];

		cpu->accesses = malloc(2 * insns * sizeof(*cpu->accesses));
		if (!cpu->accesses)
			fail("malloc");
	}
	__atomic_store_n(&length, insns, __ATOMIC_RELEASE);
	__atomic_store_n(&begun, true, __ATOMIC_RELEASE);
}

/* CPUs that idle may never get to the end. */
static void await_cpus(void)
{
	for (int tenths = 0; tenths < 10 * WAIT_S; tenths++) {
		int done = 0;

		for (int i = 0; i < nr_cpus; i++)
			done += __atomic_load_n(&cpus[i].done, __ATOMIC_ACQUIRE);
		if (done == nr_cpus)
			break;
		usleep(100000);
	}
	__atomic_store_n(&length, 0, __ATOMIC_RELEASE);
	usleep(100000);			/* a CPU may just be adding a record */
}

static void save(void)
{
	char part[4096];
	FILE *file;

	snprintf(part, sizeof(part), "%s.part", records);
	file = fopen(part, "w");
	if (!file)
		fail(part);
	for (int i = 0; i < nr_cpus; i++) {
		fwrite(cpus[i].accesses, sizeof(struct access), cpus[i].count, file);
		free(cpus[i].accesses);
	}
	if (ferror(file) | fclose(file))
		fail(part);
	if (rename(part, records))
		fail(records);
}

static void *obey(void *unused)
{
	FILE *file = fopen(control, "r");
	unsigned long long insns;

	if (!file)
		fail(control);
	if (fscanf(file, "%llu", &insns) == 1) {
		begin(insns);
		await_cpus();
		save();
	}
	fclose(file);
	return unused;
}

static const char *value_of(const char *arg, const char *key)
{
	const size_t length_of_key = strlen(key);

	return strncmp(arg, key, length_of_key) ? NULL : arg + length_of_key;
}

EXPORT int qemu_plugin_install(__u64 id, const struct qemu_info *info, int argc, char **argv)
{
	pthread_t thread;

	for (int i = 0; i < argc; i++) {
		control = value_of(argv[i], "control=") ?: control;
		records = value_of(argv[i], "records=") ?: records;
	}
	nr_cpus = info->smp_vcpus;
	if (!control || !records || nr_cpus > MAX_CPUS) {
		fprintf(stderr, "accesses: control= or records= is missing, or more than %d CPUs\n",
			MAX_CPUS);
		return -1;
	}
	control = strdup(control);
	records = strdup(records);
	plugin = id;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	return pthread_create(&thread, NULL, obey, NULL);
}

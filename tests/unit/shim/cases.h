/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_CASES_H
#define SHIM_CASES_H

/* cmocka, after the headers that it needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/types.h>

typedef struct CMUnitTest test_case;

/* Run before and after each case, if a program defines them. */
#ifndef CASE_SETUP
#define CASE_SETUP	NULL
#define CASE_TEARDOWN	NULL
#endif

/* cprograms.py finds a case by this word, one a line. */
#define TEST(name)	cmocka_unit_test_setup_teardown(name, CASE_SETUP, CASE_TEARDOWN)

/* All cases, or the cases that match the program's argument. */
#define run_cases(cases, argc, argv) ({					\
	if ((argc) > 1)							\
		cmocka_set_test_filter((argv)[1]);			\
	cmocka_run_group_tests(cases, NULL, NULL); })

#endif /* SHIM_CASES_H */

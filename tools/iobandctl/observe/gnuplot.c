// SPDX-License-Identifier: GPL-2.0-only
/* Runs gnuplot without a shell: the script is its input, the image its output. */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe/plot-series.h"

#define COMPLAINT_SIZE 256

/* The last line of the output of gnuplot, which has the reason of the failure. */
static void read_complaint(int said, char complaint[COMPLAINT_SIZE])
{
	char text[COMPLAINT_SIZE], *line;
	off_t end = lseek(said, 0, SEEK_END);
	off_t start = end > COMPLAINT_SIZE - 1 ? end - (COMPLAINT_SIZE - 1) : 0;
	ssize_t length = pread(said, text, COMPLAINT_SIZE - 1, start);

	text[length > 0 ? length : 0] = 0;
	while (length > 0 && strchr("\n ", text[length - 1]))
		text[--length] = 0;
	line = strrchr(text, '\n');
	strcpy(complaint, line ? line + 1 : text);
}

static int judge(int status, int said)
{
	char complaint[COMPLAINT_SIZE];

	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return EXIT_OK;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return fail(EXIT_FAILED, "cannot run gnuplot");
	read_complaint(said, complaint);
	if (WIFSIGNALED(status))
		return fail(EXIT_FAILED, "gnuplot was killed by signal %d (%s)",
			    WTERMSIG(status), strsignal(WTERMSIG(status)));
	return fail(EXIT_FAILED, "gnuplot failed: %s",
		    *complaint ? complaint : "it does not say why");
}

static int start(int input, int output, int said, pid_t *child)
{
	char *const argv[] = { "gnuplot", "--default-settings", "-", NULL };
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawn_file_actions_adddup2(&actions, input, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, 1);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, said, 2);
	if (!error)
		error = posix_spawnp(child, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/*
 * Draw an image.
 * @script: a file; read from its beginning
 */
int gnuplot_run(FILE *script, int output)
{
	int said, error, status, code;
	pid_t child;

	if (fflush(script) || ferror(script) || lseek(fileno(script), 0, SEEK_SET) < 0)
		return fail(EXIT_FAILED, "cannot write for gnuplot: %s", strerror(errno));
	said = memfd_create("gnuplot-said", MFD_CLOEXEC);
	if (said < 0)
		return fail(EXIT_FAILED, "cannot run gnuplot: %s", strerror(errno));
	error = start(fileno(script), output, said, &child);
	if (error == ENOENT)
		code = fail(EXIT_MISSING,
			    "gnuplot, which draws, is not installed; install the package gnuplot-nox");
	else if (error)
		code = fail(exit_code_of(error), "cannot run gnuplot: %s", strerror(error));
	else if (waitpid(child, &status, 0) < 0)
		code = fail(EXIT_FAILED, "gnuplot is lost: %s", strerror(errno));
	else
		code = judge(status, said);
	close(said);
	return code;
}

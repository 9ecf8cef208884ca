// SPDX-License-Identifier: GPL-2.0-only
/*
 * top on a terminal of any size.
 *
 * Columns that do not fit are left out, the last of @order first.  Names of
 * groups have the remaining width, and lose their beginning.  Failures, as of a
 * device just removed, are shown until the next sample.
 */
#define _GNU_SOURCE	/* ppoll() */
#define NCURSES_WIDECHAR 1
#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/alloc.h"
#include "base/show.h"
#include "observe/top.h"

#define HEAD_LINES 2
#define GROUP_WIDTH_MIN 12
#define FIRST_LOOK_S 0.5

/* The columns by importance, the most important first. */
static const struct {
	enum top_column column;
	int width;
} order[] = {
	{ TOP_SHARE, 7 }, { TOP_DUE, 6 }, { TOP_WEIGHT, 7 }, { TOP_BYTES, 8 },
	{ TOP_IOS, 8 }, { TOP_WAIT, 7 }, { TOP_SERVICE, 8 }, { TOP_HELD, 6 },
	{ TOP_WAIT_P99, 7 }, { TOP_SERVICE_P99, 7 }, { TOP_POOL, 17 },
};

static const struct {
	int key;
	enum top_column column;
} keys[] = {
	{ 'n', TOP_GROUP }, { 'p', TOP_POOL }, { 'g', TOP_WEIGHT },
	{ 'd', TOP_DUE }, { 's', TOP_SHARE }, { 'b', TOP_BYTES },
	{ 'i', TOP_IOS }, { 'h', TOP_HELD }, { 'w', TOP_WAIT },
	{ 'W', TOP_WAIT_P99 }, { 'v', TOP_SERVICE }, { 'V', TOP_SERVICE_P99 },
};

/* The content of the terminal. */
struct screen {
	struct top *top;
	struct top_view view;	/* the rows */
	struct problem problem;	/* reason for missing rows; empty if nothing failed */
	size_t first;	/* index of the first visible row */
	bool help;	/* show the keys */
	sigset_t signals;	/* signals blocked during the wait for keys */
	int width[TOP_COLUMNS];	/* by column, 0 for columns that do not fit */
};

static void choose_columns(struct screen *screen)
{
	int left = COLS - GROUP_WIDTH_MIN;

	memset(screen->width, 0, sizeof(screen->width));
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (order[i].width > left)
			break;
		screen->width[order[i].column] = order[i].width;
		left -= order[i].width;
	}
	screen->width[TOP_GROUP] = GROUP_WIDTH_MIN + left;
	if (screen->width[TOP_GROUP] > COLS)
		screen->width[TOP_GROUP] = COLS;
}

/*
 * A text as the screen shows it, for free().  A name that the C library cannot convert becomes a
 * question mark.
 */
wchar_t *top_widen(const char *text)
{
	char *shown __free = show(text, stdout);
	size_t size = strlen(shown) + 1;
	wchar_t *wide = xcalloc(size, sizeof(*wide));

	if (mbstowcs(wide, shown, size) == (size_t)-1)
		wcscpy(wide, L"?");
	for (wchar_t *at = wide; *at; at++)
		*at = wcwidth(*at) < 0 ? L'?' : *at;
	return wide;
}

static int width_of(const wchar_t *text)
{
	int width = 0;

	for (; *text; text++)
		width += wcwidth(*text);
	return width;
}

/* Text, cut at its end. */
static wchar_t *widen_within(const char *text, int width)
{
	wchar_t *wide = top_widen(text);

	for (size_t n = wcslen(wide); n && width_of(wide) > width;)
		wide[--n] = 0;
	return wide;
}

/* Cut a path at its beginning, as its end is more specific. */
static void draw_name(int y, int width, const char *text)
{
	wchar_t *wide __free = top_widen(text);
	const wchar_t *shown = wide;

	if (width_of(wide) > width) {
		while (*shown && width_of(shown) >= width)
			shown++;
		mvaddch(y, 0, '<');
	} else {
		move(y, 0);
	}
	addwstr(shown);
}

/* Text, cut at the end of the line; the last cell of the screen stays empty. */
static void draw_text(int y, const char *text)
{
	wchar_t *wide __free = widen_within(text, COLS - (y == LINES - 1));

	mvaddwstr(y, 0, wide);
}

static void draw_cell(int y, int *x, int width, const char *text)
{
	wchar_t *wide __free = widen_within(text, width - 1);

	*x += width;
	mvaddwstr(y, *x - width_of(wide), wide);
}

static void draw_titles(const struct screen *screen, int y)
{
	int x = screen->width[TOP_GROUP];

	attron(A_REVERSE);
	mvhline(y, 0, ' ', COLS);
	if (screen->top->sort == TOP_GROUP)
		attron(A_BOLD | A_UNDERLINE);
	draw_name(y, x, top_columns[TOP_GROUP].title);
	attroff(A_BOLD | A_UNDERLINE);
	for (size_t c = TOP_GROUP + 1; c < TOP_COLUMNS; c++) {
		if (!screen->width[c])
			continue;
		if (screen->top->sort == c)
			attron(A_BOLD | A_UNDERLINE);
		draw_cell(y, &x, screen->width[c], top_columns[c].title);
		attroff(A_BOLD | A_UNDERLINE);
	}
	attroff(A_REVERSE);
}

static void draw_row(const struct screen *screen, int y, const struct top_row *row)
{
	int x = screen->width[TOP_GROUP];
	char text[FORMAT_SIZE];

	draw_name(y, x, row->group);
	for (size_t c = TOP_GROUP + 1; c < TOP_COLUMNS; c++) {
		if (screen->width[c])
			draw_cell(y, &x, screen->width[c], top_cell(row, c, text));
	}
}

/* A page of a recording has its time. */
static char *summarize(const struct screen *screen)
{
	const struct top_view *view = &screen->view;
	const struct top *top = screen->top;
	char at[TOP_TIME_SIZE], *text, *dated;

	text = xasprintf("%zu of %zu groups busy, %zu pools, every %g s, by %s%s  ?: keys",
			 view->n, view->groups, view->pools, top->interval_s,
			 top_columns[top->sort].title, top->reverse ? " reversed" : "");
	if (!top->input)
		return text;
	top_time(top, at);
	dated = xasprintf("%s  %s", at, text);
	free(text);
	return dated;
}

static void draw_head(const struct screen *screen)
{
	char *text;

	if (*screen->problem.text)
		text = xstrdup(screen->problem.text);
	else if (screen->help)
		text = xasprintf("%s",
				 "q quit  r reverse  < > next column  arrows scroll  sort by: s share  d due  g weight  b bytes  i ios  h held  w W wait  v V service  n group  p pool");
	else
		text = summarize(screen);
	draw_text(0, text);
	free(text);
}

/* A terminal of one or two lines shows groups without headings. */
static void draw(struct screen *screen)
{
	int head = LINES > HEAD_LINES ? HEAD_LINES : 0;
	size_t rows = LINES - head;

	if (screen->view.n <= rows)
		screen->first = 0;
	else if (screen->first > screen->view.n - rows)
		screen->first = screen->view.n - rows;
	erase();
	choose_columns(screen);
	for (size_t i = 0; i < rows && screen->first + i < screen->view.n; i++)
		draw_row(screen, head + i, &screen->view.v[screen->first + i]);
	if (head)
		draw_titles(screen, 1);
	if (head || *screen->problem.text)
		draw_head(screen);
	refresh();
}

static void look(struct screen *screen)
{
	struct top_view view;

	/* The last page of a recording stays. */
	if (screen->top->at_end)
		return;
	*screen->problem.text = 0;
	fail_into(&screen->problem);
	if (top_refresh(screen->top, &view) == EXIT_OK)
		*screen->problem.text = 0;
	fail_into(NULL);
	if (screen->top->at_end && !view.n)
		return;
	top_view_free(&screen->view);
	screen->view = view;
}

static void scroll_by(struct screen *screen, int rows)
{
	if (rows < 0 && screen->first < (size_t)-rows)
		screen->first = 0;
	else
		screen->first += rows;
}

static void sort_by_key(struct top *top, int key)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i].key == key)
			top->sort = keys[i].column;
	}
}

/* Return: false to quit. */
static bool press(struct screen *screen, int key)
{
	struct top *top = screen->top;
	int page = LINES > HEAD_LINES ? LINES - HEAD_LINES : LINES;

	screen->help = key == '?' && !screen->help;
	if (key == KEY_DOWN || key == KEY_UP)
		scroll_by(screen, key == KEY_DOWN ? 1 : -1);
	else if (key == KEY_NPAGE || key == KEY_PPAGE)
		scroll_by(screen, key == KEY_NPAGE ? page : -page);
	else if (key == '<' || key == '>')
		top->sort = (top->sort + TOP_COLUMNS + (key == '>' ? 1 : -1)) % TOP_COLUMNS;
	else if (key == 'r')
		top->reverse = !top->reverse;
	else
		sort_by_key(top, key);
	top_view_sort(&screen->view, top->sort, top->reverse);
	return key != 'q' && key != 'Q';
}

/*
 * Handle keys until the next sample is due.  A change of the terminal's size
 * ends the wait, and getch() reports it.  getch() does not report a size that
 * has changed and changed back, though the terminal has lost its content.
 *
 * Return: false to quit, or if the terminal is gone.
 */
static bool wait_for_keys(struct screen *screen, uint64_t until_ns)
{
	struct pollfd terminal = { .fd = STDIN_FILENO, .events = POLLIN };
	uint64_t now_ns;
	bool resized;
	int key;

	while ((now_ns = sample_clock()) < until_ns) {
		const struct timespec left = {
			.tv_sec = (until_ns - now_ns) / NS_PER_S,
			.tv_nsec = (until_ns - now_ns) % NS_PER_S,
		};

		resized = ppoll(&terminal, 1, &left, &screen->signals) < 0;
		if (resized && errno != EINTR)
			return false;
		if (terminal.revents & (POLLHUP | POLLERR))
			return false;
		while ((key = getch()) != ERR) {
			if (!press(screen, key))
				return false;
			draw(screen);
		}
		if (resized) {
			clearok(curscr, true);
			draw(screen);
		}
		terminal.revents = 0;
	}
	return true;
}

static void look_until_quit(struct screen *screen)
{
	const struct top *top = screen->top;
	double wait_s = top->interval_s < FIRST_LOOK_S ? top->interval_s : FIRST_LOOK_S;
	uint64_t next_ns = sample_clock();

	draw(screen);
	for (uint64_t i = 0; !top->count || i < top->count; i++) {
		next_ns += wait_s * NS_PER_S;
		if (!wait_for_keys(screen, next_ns))
			break;
		next_ns = sample_clock();
		look(screen);
		draw(screen);
		wait_s = top->interval_s;
	}
}

/*
 * Block SIGWINCH outside of waits: a signal handled elsewhere would not end the next wait.  Before
 * ncurses has read the size and installed its handler, an unblocked signal would be lost.
 */
static void keep_resize_for_waits(struct screen *screen)
{
	sigset_t resize;

	sigemptyset(&resize);
	sigaddset(&resize, SIGWINCH);
	sigprocmask(SIG_BLOCK, &resize, &screen->signals);
}

/* Run top on the terminal. */
int top_screen(struct top *top)
{
	struct screen screen = { .top = top };
	int code = top_refresh(top, &screen.view);
	const char *type = getenv("TERM");
	SCREEN *terminal;

	if (code != EXIT_OK)
		return code;
	keep_resize_for_waits(&screen);
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return fail(EXIT_FAILED,
			    "the terminal '%s' is not known here; set TERM to its type, or use --batch",
			    type ? type : "");
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, true);
	nodelay(stdscr, true);
	look_until_quit(&screen);
	sigprocmask(SIG_SETMASK, &screen.signals, NULL);
	endwin();
	delscreen(terminal);
	top_view_free(&screen.view);
	return EXIT_OK;
}

# SPDX-License-Identifier: GPL-2.0-only
# The manual page of one verb, of what iobandctl.8 has about it.
#
#	awk -v verb=VERB -v verbs="VERB..." -v summary=TEXT -f man-verb.awk iobandctl.8
#
# That is its synopses, its items in the list of VERBS, and those in the list of JSON OUTPUT;
# and the subsection Columns, if that names the verb.

BEGIN {
	split(verbs, list)
	for (i in list)
		is_verb[list[i]] = 1
}

# Whether the head of an item, or of a synopsis, names the verb.
function names_verb(line,	words, n, i)
{
	n = split(line, words)
	for (i = 2; i <= n; i++) {
		if (words[i] == verb && words[i - 1] != "Ar" && words[i - 1] != "Fl")
			return 1
	}
	return 0
}

# A line for this page: .Nm would be this page's, and sections are the other's.
function adapted(line,	name, end)
{
	if (line ~ /^\.Nm( |$)/)
		return ".Nm iobandctl" substr(line, 4)
	if (line !~ /^\.Sx /)
		return line
	name = substr(line, 5)
	end = ""
	if (name ~ / [.,;:]$/) {
		end = substr(name, length(name) - 1)
		name = substr(name, 1, length(name) - 2)
	}
	if (name == "Columns" && has_columns)
		return ".Dq " name "\nbelow" substr(end, 2)
	return ".Dq " name "\nin\n.Xr iobandctl 8" end
}

# Other verbs that a line speaks of, for SEE ALSO.
function note_verbs(line,	words, n, i)
{
	n = split(line, words)
	for (i = 2; line ~ /^\.Cm / && i <= n; i++) {
		if (words[i] != verb && words[i] in is_verb)
			mentioned[words[i]] = 1
	}
}

/^\.Dd / { date = $0 }

/^\.Sh / {
	section = substr($0, 5)
	subsection = ""
	depth = takes = 0
	next
}

/^\.Ss / {
	subsection = substr($0, 5)
	next
}

subsection == "Columns" {
	if (/^\.Cm / && names_verb($0))
		has_columns = 1
	columns = columns adapted($0) "\n"
}

section == "SYNOPSIS" && /^\.Nm$/ {
	getline
	takes = names_verb($0)
	if (takes)
		synopsis = synopsis ".Nm iobandctl\n"
}

section == "SYNOPSIS" && takes { synopsis = synopsis $0 "\n" }

section != "VERBS" && section != "JSON OUTPUT" { next }

/^\.Bl / { depth++ }

depth == 1 && /^\.It / {
	takes = names_verb($0)
	if (takes && section == "VERBS")
		heads++
}

/^\.El/ && --depth == 0 { takes = 0 }

!takes { next }

section == "JSON OUTPUT" { json = json adapted($0) "\n"; next }

{
	note_verbs($0)
	items = items adapted($0) "\n"
	if (depth > 1 || !/^\.It /)
		body = body adapted($0) "\n"
}

END {
	if (!items || !synopsis) {
		print "iobandctl.8 says nothing of " verb >"/dev/stderr"
		exit 1
	}
	print ".\\\" SPDX-License-Identifier: GPL-2.0-only"
	print ".\\\" Made of iobandctl.8."
	print date
	print ".Dt IOBANDCTL-" toupper(verb) " 8\n.Os\n.Sh NAME"
	print ".Nm iobandctl-" verb
	print ".Nd " tolower(substr(summary, 1, 1)) substr(summary, 2)
	printf ".Sh SYNOPSIS\n%s.Sh DESCRIPTION\n", synopsis
	if (heads > 1)
		printf ".Bl -tag -width indent\n%s.El\n", items
	else
		printf "%s", body
	if (has_columns)
		printf ".Ss Columns\n%s", columns
	if (json) {
		print ".Sh JSON OUTPUT\nSee\n.Xr iobandctl 8\nfor what all lists have in common."
		printf ".Bl -tag -width indent\n%s.El\n", json
	}
	print ".Sh EXIT STATUS\nSee\n.Xr iobandctl 8 ."
	print ".Sh SEE ALSO"
	n = split(verbs, sorted)
	for (i = 2; i <= n; i++) {
		for (j = i; j > 1 && sorted[j - 1] > sorted[j]; j--) {
			swap = sorted[j]
			sorted[j] = sorted[j - 1]
			sorted[j - 1] = swap
		}
	}
	also = ".Xr ioband.conf 5 ,\n.Xr iobandctl 8"
	for (i = 1; i <= n; i++) {
		if (sorted[i] in mentioned)
			also = also " ,\n.Xr iobandctl-" sorted[i] " 8"
	}
	print also
}

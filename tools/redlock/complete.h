/* SPDX-License-Identifier: MIT */
/*
 * Candidates for the last word of a command line of redlock, by the tables of commands and options. Asks no
 * server; reads the configuration for names of clusters only. The scripts in completion/ bring the answer to
 * each shell.
 */
#ifndef REDLOCK_TOOL_COMPLETE_H
#define REDLOCK_TOOL_COMPLETE_H

#include <stdio.h>

#include "options.h"

/*
 * `words` are those after `redlock`; the last one, which may be empty, is to be completed. Writes the kind of
 * the answer in the first line:
 *
 *     words        each further line is a word that begins with what was typed, a tab, and what it means
 *     files        a file name of the shell, after the = if the word is --OPTION=
 *     directories  the same for directories
 *     command N    word N, from 0, begins the command line of another program
 */
void complete_words(FILE *out, const struct text_list *words);

#endif

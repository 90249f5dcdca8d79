/* SPDX-License-Identifier: MIT */
#include "os/path.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *rl_path_problem(const char *path, bool directory)
{
	struct stat status;
	if (stat(path, &status) < 0)
		return strerror(errno);
	if (directory)
		return S_ISDIR(status.st_mode) ? NULL : "is not a directory";
	if (S_ISDIR(status.st_mode))
		return "is a directory, not a PEM file";
	return access(path, R_OK) < 0 ? strerror(errno) : NULL;
}

bool rl_path_has_hashed_names(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool found = false;
	while (dir != NULL && !found && (entry = readdir(dir)) != NULL)
		found = strspn(entry->d_name, "0123456789abcdef") == 8 && entry->d_name[8] == '.';
	if (dir != NULL)
		closedir(dir);
	return found;
}

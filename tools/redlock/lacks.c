/* SPDX-License-Identifier: MIT */
#include "lacks.h"

#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "doctor/doctor.h"

static bool refuses_script(const struct node_report *node)
{
	return node->vote.code == REDLOCK_VOTE_NOPERM && strstr(node->detail, "script") != NULL;
}

static void add(const struct doctor *doctor, const struct doctor_node *node, enum doctor_group group,
                char *buffer, size_t size)
{
	char rights[sizeof((struct report *)NULL)->lacks];
	size_t used = strlen(buffer);
	if (doctor_rights(doctor, node, group, rights, sizeof rights)[0] != '\0')
		snprintf(buffer + used, size - used, "%s%s", used > 0 ? " " : "", rights);
}

static bool is_a_look(const char *verb)
{
	bool is = false;
	for (size_t i = 0; all_commands[i] != NULL; i++)
		is |= all_commands[i]->looks && strcmp(verb, all_commands[i]->name) == 0;
	return is;
}

/* Those of the first node that lacks any. */
static void put(const struct doctor *doctor, const char *verb, char *buffer, size_t size)
{
	const struct settings *settings = doctor->session->settings;
	for (unsigned i = 0; i < doctor->nodes && buffer[0] == '\0'; i++) {
		add(doctor, &doctor->node[i], DOCTOR_NEEDED, buffer, size);
		add(doctor, &doctor->node[i], DOCTOR_GUARDS, buffer, size);
		if (is_a_look(verb))
			add(doctor, &doctor->node[i], DOCTOR_LOOK, buffer, size);
		if (settings->fence)
			add(doctor, &doctor->node[i], DOCTOR_FENCE, buffer, size);
		if (settings->shared)
			add(doctor, &doctor->node[i], DOCTOR_SHARED, buffer, size);
	}
}

void lacks_look(struct report *report, struct session *session)
{
	bool any = false;
	memcpy(report->user, session->user, sizeof report->user);
	struct doctor *doctor = calloc(1, sizeof *doctor);
	for (unsigned i = 0; i < report->nodes && doctor != NULL; i++) {
		doctor->node[i].answered = refuses_script(&report->node[i]);
		any |= doctor->node[i].answered;
	}
	if (any && doctor_open(doctor, session, report) && doctor_look_at_records(doctor) &&
	    doctor_try_rights(doctor, false))
		put(doctor, report->verb, report->lacks, sizeof report->lacks);
	if (doctor != NULL)
		doctor_free(doctor);
	free(doctor);
}

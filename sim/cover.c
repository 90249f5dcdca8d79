/* SPDX-License-Identifier: MIT */
/* Names of what is counted. */
#include "cover.h"

static const struct {
	const char *name;
	const char *text;
} kinds[COVER_COUNT] = {
#define SIM_COVER_ROW(name, text) [COVER_##name] = {#name, text},
    SIM_FAULT_MAP(SIM_COVER_ROW) SIM_ACT_MAP(SIM_COVER_ROW)
#undef SIM_COVER_ROW
};

const char *cover_name(enum sim_cover kind)
{
	return kinds[kind].name;
}

const char *cover_text(enum sim_cover kind)
{
	return kinds[kind].text;
}

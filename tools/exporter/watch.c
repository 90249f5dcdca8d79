/* SPDX-License-Identifier: MIT */
#include "watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

struct watch {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wanted, taken;
	struct looker *looker; /* of the thread alone */
	struct list *list;
	bool stop, wants; /* under the mutex, as all that follows */
	uint64_t number;  /* of looks so far */
	struct look last;
	struct moment history[HISTORY_COUNT];
	unsigned next; /* of the history: where the next moment goes */
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static struct timespec point(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

static void wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t ns)
{
	struct timespec until = point(ns);
	pthread_cond_timedwait(condition, mutex, &until);
}

static struct moment moment_of(struct watch *w)
{
	const struct look *l = &w->last;
	struct moment moment = {.at_s = l->at_s}, *m = &moment;
	for (unsigned i = 0; i < l->count; i++) {
		m->up |= (uint32_t)l->node[i].up << i;
		m->round_trip_ms[i] = (float)(l->node[i].round_trip_s * 1000);
	}
	for (unsigned i = 0; i < l->locks; i++) {
		m->held |= (uint64_t)l->lock[i].held << i;
		m->waiting[i] = (int16_t)(l->lock[i].waiting < INT16_MAX ? l->lock[i].waiting : INT16_MAX);
	}
	const struct list_view *view = list_enter(w->list);
	m->locks = view->known ? (float)view->locks : -1;
	m->waiters = view->known ? (float)view->waiting : -1;
	list_leave(w->list);
	return moment;
}

static void remember(struct watch *w)
{
	w->history[w->next] = moment_of(w);
	w->next = (w->next + 1) % HISTORY_COUNT;
}

static float worst(float a, float b)
{
	return a > b ? a : b;
}

/* A look within the step of the last moment: the history has the worst of all looks, which the page shows
 * beside the last one. */
static void remember_worst(struct watch *w)
{
	struct moment *m = &w->history[(w->next + HISTORY_COUNT - 1) % HISTORY_COUNT];
	const struct moment now = moment_of(w);
	m->up &= now.up;
	m->held &= now.held;
	for (unsigned i = 0; i < w->last.count; i++)
		m->round_trip_ms[i] = worst(m->round_trip_ms[i], now.round_trip_ms[i]);
	for (unsigned i = 0; i < w->last.locks; i++)
		m->waiting[i] = now.waiting[i] > m->waiting[i] ? now.waiting[i] : m->waiting[i];
	m->locks = worst(m->locks, now.locks);
	m->waiters = worst(m->waiters, now.waiters);
}

/* Without the mutex: requests are answered meanwhile. */
static void take(struct watch *w, struct look *look, uint64_t *step_ns)
{
	pthread_mutex_unlock(&w->mutex);
	bool ok = looker_look(w->looker, look);
	pthread_mutex_lock(&w->mutex);
	w->wants = false;
	if (ok) {
		w->last = *look;
		w->number++;
	}
	if (ok && now_ns() >= *step_ns) {
		remember(w);
		*step_ns = now_ns() + HISTORY_STEP_S * NS_PER_S;
	} else if (ok) {
		remember_worst(w);
	}
	pthread_cond_broadcast(&w->taken);
}

static void *run(void *argument)
{
	struct watch *w = argument;
	struct look *look = calloc(1, sizeof *look);
	uint64_t step_ns = 0, begun_ns = 0;
	pthread_mutex_lock(&w->mutex);
	while (!w->stop && look != NULL) {
		uint64_t now = now_ns(), due = w->wants ? begun_ns + NS_PER_S : step_ns;
		if (now < due) {
			wait_until(&w->wanted, &w->mutex, due);
			continue;
		}
		begun_ns = now;
		take(w, look, &step_ns);
	}
	pthread_mutex_unlock(&w->mutex);
	free(look);
	return NULL;
}

static bool init(struct watch *w)
{
	pthread_condattr_t monotonic;
	bool ok = pthread_condattr_init(&monotonic) == 0;
	ok = ok && pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0;
	ok = ok && pthread_mutex_init(&w->mutex, NULL) == 0 && pthread_cond_init(&w->wanted, &monotonic) == 0;
	return ok && pthread_cond_init(&w->taken, &monotonic) == 0;
}

struct watch *watch_start(struct looker *looker, struct list *list)
{
	struct watch *w = calloc(1, sizeof *w);
	if (w == NULL)
		return NULL;
	w->looker = looker;
	w->list = list;
	if (!init(w) || pthread_create(&w->thread, NULL, run, w) != 0) {
		free(w);
		return NULL;
	}
	pthread_mutex_lock(&w->mutex);
	while (w->number == 0)
		pthread_cond_wait(&w->taken, &w->mutex);
	pthread_mutex_unlock(&w->mutex);
	return w;
}

void watch_stop(struct watch *w)
{
	if (w == NULL)
		return;
	pthread_mutex_lock(&w->mutex);
	w->stop = true;
	pthread_cond_signal(&w->wanted);
	pthread_mutex_unlock(&w->mutex);
	pthread_join(w->thread, NULL);
	free(w);
}

void watch_look(struct watch *w, struct look *ret)
{
	pthread_mutex_lock(&w->mutex);
	uint64_t now = now_ns(), until = now + WATCH_PATIENCE_MS * (NS_PER_S / 1000), before = w->number;
	bool fresh = now - w->last.at_ns < NS_PER_S;
	if (!fresh) {
		w->wants = true;
		pthread_cond_signal(&w->wanted);
	}
	while (!fresh && w->number == before && now_ns() < until)
		wait_until(&w->taken, &w->mutex, until);
	*ret = w->last;
	pthread_mutex_unlock(&w->mutex);
}

struct list *watch_list(const struct watch *w)
{
	return w->list;
}

void watch_history(struct watch *w, struct moment ret[HISTORY_COUNT])
{
	pthread_mutex_lock(&w->mutex);
	size_t older = HISTORY_COUNT - w->next;
	memcpy(ret, w->history + w->next, older * sizeof *ret);
	memcpy(ret + older, w->history, w->next * sizeof *ret);
	pthread_mutex_unlock(&w->mutex);
}

bool watch_is_alive(struct watch *w)
{
	pthread_mutex_lock(&w->mutex);
	bool alive = now_ns() - w->last.at_ns < STALE_S * NS_PER_S;
	pthread_mutex_unlock(&w->mutex);
	return alive;
}

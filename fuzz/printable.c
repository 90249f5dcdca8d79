/* SPDX-License-Identifier: MIT */
/*
 * Bytes made safe for a terminal. Whatever a server says, what is shown is valid UTF-8 without
 * characters that control or hide, fits, and, unless it was cut, can be turned back into the same bytes.
 *
 * Input: one byte for the size of the buffer, then the bytes.
 */
#include "fuzz.h"

#include "printable.h"

static unsigned hex(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c != '\0' ? strchr(digits, c) : NULL;
	must(at != NULL);
	return (unsigned)(at - digits);
}

/* Turns a text back into the bytes that it stands for. Returns how many. */
static size_t decode(const char *text, size_t size, uint8_t *ret)
{
	size_t count = 0;
	for (size_t i = 0; i < size; i++) {
		if (text[i] != '\\') {
			ret[count++] = (uint8_t)text[i];
		} else if (text[i + 1] == '\\') {
			ret[count++] = '\\';
			i++;
		} else {
			must(i + 3 < size && text[i + 1] == 'x');
			ret[count++] = (uint8_t)(hex(text[i + 2]) * 16 + hex(text[i + 3]));
			i += 3;
		}
	}
	return count;
}

/* The text says the bytes, or the first of them and dots where there was no room for more. */
static void check_meaning(const char *text, size_t length, size_t room, const uint8_t *bytes, size_t count)
{
	uint8_t *meant = malloc(length + 1);
	must(meant != NULL);
	size_t got = decode(text, length, meant);
	if (got != count || (count > 0 && memcmp(meant, bytes, count) != 0)) {
		must(length >= 3 && strcmp(text + length - 3, "...") == 0);
		must(length - 3 + sizeof "\\x00" + sizeof "..." > room);
		must(got - 3 < count && memcmp(meant, bytes, got - 3) == 0);
	}
	free(meant);
}

static void check_safe(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t left = strlen(text);
	while (left > 0) {
		uint32_t point = 0;
		size_t step = utf8_decode(at, left, &point);
		must(step > 0 && step <= left);
		must(point >= 0x20 && point != 0x7f && (point < 0x80 || point >= 0xa0)); /* C0, DEL, C1 */
		must(point < 0x2028 || point > 0x202e);                                  /* line ends, turned text */
		must(!is_unseen(point));
		at += step;
		left -= step;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct feed feed = {bytes, size};
	size_t room = 16 + (size_t)feed_byte(&feed) * 2;
	const uint8_t *shown;
	size_t count = feed_take(&feed, feed.left, &shown);
	char *buffer = malloc(room);
	must(buffer != NULL);
	must(printable(count > 0 ? (const void *)shown : "", count, buffer, room) == buffer);
	size_t length = strnlen(buffer, room);
	must(length < room);
	check_safe(buffer);
	check_meaning(buffer, length, room, shown, count);
	free(buffer);
	return 0;
}

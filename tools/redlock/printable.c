/* SPDX-License-Identifier: MIT */
/* Bytes made safe to show. */
#include "printable.h"

#include <stdio.h>
#include <string.h>

size_t utf8_decode(const unsigned char *text, size_t available, uint32_t *ret_point)
{
	/* lead byte range, length, smallest code point (longer forms of smaller ones are invalid) */
	static const struct {
		unsigned char low, high;
		size_t length;
		uint32_t least;
	} forms[] = {{0x00, 0x7f, 1, 0}, {0xc2, 0xdf, 2, 0x80}, {0xe0, 0xef, 3, 0x800}, {0xf0, 0xf4, 4, 0x10000}};
	for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
		if (available < forms[f].length || text[0] < forms[f].low || text[0] > forms[f].high)
			continue;
		uint32_t point = forms[f].length == 1 ? text[0] : text[0] & (0xffu >> (forms[f].length + 1));
		for (size_t i = 1; i < forms[f].length; i++) {
			if ((text[i] & 0xc0) != 0x80)
				return 0;
			point = point << 6 | (text[i] & 0x3f);
		}
		if (point < forms[f].least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
			return 0;
		*ret_point = point;
		return forms[f].length;
	}
	return 0;
}

bool is_unseen(uint32_t point)
{
	/* Unicode's categories Cc, Cf, Zl and Zp: what controls a terminal, turns or hides text, ends a line. */
	static const struct {
		uint32_t first, last;
	} ranges[] = {
	    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x0600, 0x0605},   {0x061c, 0x061c},
	    {0x06dd, 0x06dd},   {0x070f, 0x070f},   {0x0890, 0x0891},   {0x08e2, 0x08e2},   {0x180e, 0x180e},
	    {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},
	    {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
	    {0xe0000, 0xe0fff},
	};
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && point >= ranges[i].first; i++)
		if (point <= ranges[i].last)
			return true;
	return false;
}

static const char *escape(const void *bytes, size_t length, bool backslashes, char *buffer, size_t size)
{
	const unsigned char *text = bytes;
	size_t out = 0, in = 0;
	uint32_t point = 0;
	while (in < length) {
		size_t step = utf8_decode(text + in, length - in, &point);
		if (out + 5 + sizeof "..." > size) {
			memcpy(buffer + out, "...", sizeof "...");
			return buffer;
		}
		if (step == 0 || is_unseen(point)) {
			out += (size_t)snprintf(buffer + out, size - out, "\\x%02x", text[in]);
			in++; /* alone: the bytes after it are no characters */
		} else {
			if (text[in] == '\\' && backslashes)
				buffer[out++] = '\\';
			memcpy(buffer + out, text + in, step);
			out += step;
			in += step;
		}
	}
	buffer[out] = '\0';
	return buffer;
}

const char *printable(const void *bytes, size_t length, char *buffer, size_t size)
{
	return escape(bytes, length, true, buffer, size);
}

const char *harmless(const char *text, char *buffer, size_t size)
{
	return escape(text, strlen(text), false, buffer, size);
}

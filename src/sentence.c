/* SPDX-License-Identifier: MIT */
#include "sentence.h"

#include <stdarg.h>
#include <stdio.h>

void rl_sentence_put(struct rl_sentence *s, const char *format, ...)
{
	size_t left = s->length < s->size ? s->size - s->length : 0;
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(left > 0 ? s->text + s->length : NULL, left, format, arguments);
	va_end(arguments);
	s->length += length > 0 ? (size_t)length : 0;
}

void rl_sentence_put_foreign(struct rl_sentence *s, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		rl_sentence_put(s, byte < ' ' || byte > '~' || byte == '\\' ? "\\x%02x" : "%c", byte);
	}
}

/* SPDX-License-Identifier: MIT */
#include "proto/command.h"

#include <string.h>

size_t rl_command_digits(char *at, uint64_t number)
{
	char digits[20];
	size_t count = 0;
	/*@ loop invariant 0 <= count <= 19 && number < ten_to(20 - count) && (count == 0 || number > 0);
	    loop invariant \forall integer i; 0 <= i < count ==> is_digit(digits[i]);
	    loop assigns count, number, digits[0 .. 19];
	    loop variant number; */
	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	/*@ loop invariant 0 <= i <= count && \forall integer k; 0 <= k < i ==> is_digit(at[k]);
	    loop assigns i, at[0 .. 19];
	    loop variant count - i; */
	for (size_t i = 0; i < count; i++)
		at[i] = digits[count - 1 - i];
	return count;
}

static inline size_t put_number(char *at, char mark, size_t number)
{
	at[0] = mark;
	if (number < 10) { /* nearly always */
		at[1] = (char)('0' + number);
		memcpy(at + 2, "\r\n", 2);
		return 4;
	}
	size_t used = 1 + rl_command_digits(at + 1, number);
	memcpy(at + used, "\r\n", 2);
	return used + 2;
}

bool rl_command_write(struct rl_buffer *out, const struct rl_slice *words, unsigned count)
{
	enum { HEAD = 24, TAIL = 2 };
	size_t most = HEAD;
	for (unsigned i = 0; i < count; i++)
		most += HEAD + words[i].size + TAIL;
	bool fits = out->capacity - out->size >= most; /* nearly always */
	if (!fits && !rl_buffer_reserve(out, most))
		return false;
	char *at = out->bytes + out->size;
	at += put_number(at, '*', count);
	for (unsigned i = 0; i < count; i++) {
		at += put_number(at, '$', words[i].size);
		memcpy(at, words[i].bytes, words[i].size);
		at += words[i].size;
		memcpy(at, "\r\n", TAIL);
		at += TAIL;
	}
	out->size = (size_t)(at - out->bytes);
	return true;
}

/* Reads a length: a mark, digits and a line end. The contract has its words from spec/proof/contracts.c. */
/*@ requires \valid(at) && \separated(at, *at + (0 .. 22)) && \exists integer n; is_length(*at, n);
    assigns *at;
    ensures \exists integer n; is_length(\old(*at), n) && *at == \old(*at) + n + 3 && \result < ten_to(n); */
static size_t read_number(const char **at)
{
	const char *first = *at + 1;
	size_t number = 0, digits = 0;
	/*@ loop invariant \forall integer n; is_length(*at, n) ==> digits <= n;
	    loop invariant number < ten_to(digits);
	    loop assigns number, digits;
	    loop variant 19 - digits; */
	for (; first[digits] != '\r'; digits++)
		number = number * 10 + (size_t)(first[digits] - '0');
	*at = first + digits + 2;
	return number;
}

struct rl_slice rl_command_word(struct rl_slice bytes, unsigned index)
{
	const char *at = bytes.bytes;
	(void)read_number(&at);
	size_t size = read_number(&at);
	for (; index > 0; index--) {
		at += size + 2;
		size = read_number(&at);
	}
	return (struct rl_slice){at, size};
}

unsigned rl_command_read(struct rl_slice bytes, struct rl_slice *words)
{
	const char *at = bytes.bytes;
	unsigned count = (unsigned)read_number(&at);
	for (unsigned i = 0; i < count; i++) {
		size_t size = read_number(&at);
		words[i] = (struct rl_slice){at, size};
		at += size + 2;
	}
	return count;
}

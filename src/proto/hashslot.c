/* SPDX-License-Identifier: MIT */
#include "proto/hashslot.h"

#include <stdint.h>
#include <string.h>

struct rl_slice rl_hashslot_tag(struct rl_slice key)
{
	const char *open = memchr(key.bytes, '{', key.size);
	if (open == NULL)
		return key;
	size_t left = key.size - (size_t)(open + 1 - key.bytes);
	const char *close = memchr(open + 1, '}', left);
	return close != NULL && close > open + 1 ? (struct rl_slice){open + 1, (size_t)(close - open - 1)} : key;
}

/* CRC16/XMODEM, as appendix A of the Redis Cluster specification has it. */
unsigned rl_hashslot_of(struct rl_slice key)
{
	enum { POLYNOMIAL = 0x1021, TOP = 0x8000 };
	struct rl_slice tag = rl_hashslot_tag(key);
	uint16_t crc = 0;
	for (size_t i = 0; i < tag.size; i++) {
		crc ^= (uint16_t)((uint8_t)tag.bytes[i] << 8);
		for (unsigned bit = 0; bit < 8; bit++)
			crc = (uint16_t)((crc & TOP) != 0 ? crc << 1 ^ POLYNOMIAL : crc << 1);
	}
	return crc % RL_HASHSLOT_COUNT;
}

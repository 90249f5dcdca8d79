# SPDX-License-Identifier: MIT
"""Relays Unix sockets: relay.py LISTEN=TARGET... Stopped by SIGSTOP it is a network that lets nothing pass and tells
nobody; after SIGCONT what was sent meanwhile arrives late."""
import asyncio
import sys


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def main():
    for pair in sys.argv[1:]:
        listen, target = pair.split("=")

        async def client(reader, writer, target=target):
            try:
                there = await asyncio.open_unix_connection(target)
            except OSError:
                writer.close()
                return
            await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

        await asyncio.start_unix_server(client, listen)
    await asyncio.Event().wait()


asyncio.run(main())

"""A load generator: connections that send requests, and how long the answers take.

``python load.py PORT PATH CONNECTIONS SECONDS RATE`` reads bodies from stdin, one per line, and
prints a line of JSON. Each connection sends a request when the one before is answered; with a rate
above 0, all together send so many per second, each at its time, and latency counts from that time.
"""

from __future__ import annotations

import asyncio
import json
import sys
from time import perf_counter

import uvloop

LENGTH = b"content-length: "
WARM = 0.2  # of the time is not counted


class Load:
    """What is sent, and what came back."""

    def __init__(self, port: int, path: str, bodies: list[bytes], seconds: float) -> None:
        self.port, self.seconds = port, seconds
        self.requests = [
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
            for body in bodies
        ]
        self.next = 0
        self.waits: list[float] = []
        self.failed = 0

    async def connection(self, begun: float, rate: float) -> None:
        """Send requests until the time is over."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while True:
            number = self.next
            self.next += 1
            due = perf_counter()
            if rate:
                due = begun + number / rate
                if (early := due - perf_counter()) > 0:
                    await asyncio.sleep(early)
            if perf_counter() - begun > self.seconds:
                break
            writer.write(self.requests[number % len(self.requests)])
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(head.split(LENGTH, 1)[1].split(b"\r\n", 1)[0]))
            if b" 200 " not in head[:16]:
                self.failed += 1
            if due - begun > WARM * self.seconds:
                self.waits.append(perf_counter() - due)
        writer.close()

    async def run(self, connections: int, rate: float) -> dict[str, float]:
        """The figures."""
        begun = perf_counter()
        await asyncio.gather(*(self.connection(begun, rate) for _ in range(connections)))
        waits = sorted(self.waits)
        return {
            "per_second": len(waits) / ((1.0 - WARM) * self.seconds),
            "p50_ms": 1e3 * waits[len(waits) // 2],
            "p99_ms": 1e3 * waits[int(0.99 * len(waits))],
            "failed": self.failed,
        }


if __name__ == "__main__":
    port, path, connections, seconds, rate = sys.argv[1:]
    load = Load(int(port), path, sys.stdin.buffer.read().splitlines(), float(seconds))
    print(json.dumps(uvloop.run(load.run(int(connections), float(rate)))))

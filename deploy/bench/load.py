"""A load generator that costs little itself: prepared requests, from a process of its own.

Each request has a connection of its own, as forges deliver and as nginx passes on unless told otherwise.
"""

import multiprocessing
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a run of requests saw; latencies in seconds, sorted."""

    seconds: float
    latencies: tuple[float, ...]
    failures: int

    @property
    def requests_per_s(self) -> float:
        """Give the answered requests per second."""
        return len(self.latencies) / self.seconds

    def percentile(self, quantile: float) -> float:
        """Give a latency in milliseconds."""
        return self.latencies[min(len(self.latencies) - 1, int(quantile * len(self.latencies)))] * 1000


def combine(loads: Sequence[Load]) -> Load:
    """Take several runs as one."""
    return Load(
        seconds=sum(load.seconds for load in loads),
        latencies=tuple(sorted(latency for load in loads for latency in load.latencies)),
        failures=sum(load.failures for load in loads),
    )


def run_load(address: str, requests: Sequence[bytes], *, connections: int, rate: float | None = None) -> Load:
    """Send every request once; as fast as the answers come, or at a fixed rate per second.

    At a fixed rate a latency counts from the moment the request was due, so that a server that falls behind
    cannot hide it. The generator runs in a process of its own.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_generate, args=(sender, address, requests, connections, rate))
    process.start()
    load: Load = receiver.recv()
    process.join()
    return load


def prepare_request(path: str, headers: dict[str, str], body: bytes) -> bytes:
    """Write a POST request as it goes over the wire."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _generate(
    sender: Connection, address: str, requests: Sequence[bytes], connections: int, rate: float | None
) -> None:
    parts = urlsplit(address)
    endpoint = (parts.hostname, parts.port)
    latencies: list[float] = []
    failures: list[int] = []
    lock = threading.Lock()
    started = time.perf_counter() + 0.2

    def work(first: int) -> None:
        mine: list[float] = []
        wrong = 0
        time.sleep(max(0.0, started - time.perf_counter()))
        for number in range(first, len(requests), connections):
            if rate is not None:
                due = started + number / rate
                time.sleep(max(0.0, due - time.perf_counter()))
            else:
                due = time.perf_counter()
            status = _exchange(endpoint, requests[number])
            mine.append(time.perf_counter() - due)
            wrong += status // 100 != 2
        with lock:
            latencies.extend(mine)
            failures.append(wrong)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    sender.send(Load(seconds=seconds, latencies=tuple(sorted(latencies)), failures=sum(failures)))


def _exchange(endpoint: tuple[str | None, int | None], request: bytes) -> int:
    """Send one request over a connection of its own, read the whole answer and give its status, 0 for none."""
    with socket.create_connection(endpoint, timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(request)
        answer = b""
        while received := connection.recv(65536):
            answer += received
    return int(answer.split(b" ", 2)[1]) if answer else 0

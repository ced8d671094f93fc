"""Places at the engine: a bounded number of requests in flight, the most urgent waiting one next."""

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slots:
    """Hand out a fixed number of places, lower `priority` first, then in order of arrival.

    A plain semaphore would let the chunks of one huge review stand before a small one in the same process.
    Belongs to one event loop.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._arrivals = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def hold(self, priority: int) -> AsyncIterator[None]:
        """Wait for a place and give it back at the end of the block."""
        await self._take(priority)
        try:
            yield
        finally:
            self._give_back()

    async def _take(self, priority: int) -> None:
        if self._free and not self._waiting:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arrivals += 1
        heapq.heappush(self._waiting, (priority, self._arrivals, turn))
        try:
            await turn
        except asyncio.CancelledError:
            # The place may have been handed over in the same step in which the wait was cut off.
            if turn.done() and not turn.cancelled():
                self._give_back()
            raise

    def _give_back(self) -> None:
        while self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

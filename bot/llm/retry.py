"""Repeat what may succeed later, until a deadline."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from bot.llm.base import LlmUnavailable
from bot.llm.failures import AttemptFailed, RequestChanged

_LONGEST_PAUSE_S = 8.0
_ENGINE_FAULTS_ALLOWED = 1

_T = TypeVar("_T")
_log = structlog.get_logger(__name__)


async def retry(attempt: Callable[[int], Awaitable[_T]], deadline: float, pause_s: float) -> _T:
    """Call `attempt` with 1, 2, ... until it returns, with pauses that grow from `pause_s` and are jittered.

    Raises LlmUnavailable if the next attempt would begin after the deadline, a reading of the monotonic clock,
    or if the engine itself failed twice.
    """
    faults = 0
    number = 0
    while True:
        number += 1
        try:
            return await attempt(number)
        except RequestChanged as change:
            _log.warning("llm_request_changed", reason=str(change))
        except AttemptFailed as failure:
            faults += failure.engine_fault
            # Half to full length, so that workers that failed together do not come back together.
            wait = failure.retry_after_s or pause_s * secrets.SystemRandom().uniform(0.5, 1)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
            if faults > _ENGINE_FAULTS_ALLOWED or time.monotonic() + wait >= deadline:
                times = "" if number == 1 else f" (tried {number} times)"
                raise LlmUnavailable(f"{failure}{times}") from failure
            _log.warning("llm_attempt_failed", attempt=number, reason=str(failure), wait_s=round(wait, 3))
            await asyncio.sleep(wait)

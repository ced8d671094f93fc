"""Callbacks that a review makes on its way, for progress, storage and stopping it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.forges.base import PullRequest
from bot.review.result import LlmCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Hold the callbacks; each may raise ReviewStopped to end the review there.

    `on_head` gets the pull request once it is read, `on_size` the estimated tokens of the cleaned diff,
    `on_progress` the chunks that are done and their number, `on_call` each request to the engine. Setting
    `cancelled` breaks off the requests in flight, so that the engine frees their slots.
    """

    on_head: Callable[[PullRequest], None] = lambda _pull_request: None
    on_size: Callable[[int], None] = lambda _tokens: None
    on_progress: Callable[[int, int], None] = lambda _done, _chunks: None
    on_call: Callable[[LlmCall], None] = lambda _call: None
    cancelled: threading.Event = field(default_factory=threading.Event)

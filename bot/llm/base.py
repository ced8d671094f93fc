"""The `Llm` seam: one question to the engine, one measured answer."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


class LlmError(Exception):
    """The engine could not answer; the text is a sentence that may be shown to people."""


class LlmUnavailable(LlmError):
    """The engine is down, loading, overloaded or broke off: try again later, within the deadline."""


class LlmDeadlineExceeded(LlmError):
    """The deadline passed before the answer was complete; the request was closed so that its slot is free."""


class LlmCancelled(LlmError):
    """The request was called off by its `cancelled`; it was closed so that its slot is free."""


class LlmRefused(LlmError):
    """The engine refused the request and would refuse it again (unknown model, wrong key, invalid field)."""


class PromptTooLong(LlmError):
    """The prompt does not fit the context: split it. Token counts are the engine's own, where it gave them."""

    def __init__(self, message: str, *, context_tokens: int | None, prompt_tokens: int | None) -> None:
        super().__init__(message)
        self.context_tokens = context_tokens
        self.prompt_tokens = prompt_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of the chat."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request to the engine.

    `deadline` is a reading of the monotonic clock in seconds that covers all retries. `priority` is lower
    for sooner. `schema` constrains the answer to JSON of that form. Setting `cancelled` from any thread ends
    the question within a fraction of a second.
    """

    messages: tuple[Message, ...]
    schema_name: str
    schema: Mapping[str, object]
    max_output_tokens: int
    priority: int
    deadline: float
    request_id: str
    cancelled: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the engine wrote, and what it cost.

    Times are in milliseconds on a monotonic clock: `ttft_ms` from sending to the first token of the attempt
    that succeeded, `total_ms` over all attempts. `tokens_per_s` is None for fewer than two tokens.
    """

    text: str
    finish_reason: str
    model: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    ttft_ms: float
    total_ms: float
    tokens_per_s: float | None
    attempts: int
    constrained: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """What the engine serves: the model's name and its context in tokens (None where it does not say)."""

    model: str
    context_tokens: int | None


class Llm(Protocol):
    """What a review needs of the engine. Every method raises only `LlmError` and its kinds; threads may share it."""

    def describe(self, deadline: float, cancelled: threading.Event | None = None) -> EngineInfo:
        """Ask which model is served and how long its context is; remembered after the first answer.

        `deadline` and `cancelled` are as those of a question.
        """

    def ask(self, question: Question) -> Answer:
        """Send one question and wait for the whole answer."""

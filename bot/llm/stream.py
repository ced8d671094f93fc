"""Read one streamed answer: its text, its cost, and when its tokens came."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import openai
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletionChunk

from bot.llm.failures import AttemptFailed, RequestChanged, classify_stream_error

# Nothing in an answer needs this much white space in a row: the model loops, and under a grammar that allows
# white space between JSON tokens it would do so until its budget is spent.
# https://github.com/vllm-project/vllm/issues/38696
WHITESPACE_LIMIT = 200

# The answer is whole once the reason for its end and the usage are there. What follows is only the end mark,
# which is waited for so that the connection can be used again.
_END_MARK_S = 0.5


class WhitespaceRunaway(RequestChanged):
    """The model writes nothing but white space; the request was closed."""

    def __init__(self, reading: "Reading") -> None:
        super().__init__("the model wrote only white space")
        self.reading = reading


@dataclass(slots=True, kw_only=True)
class Reading:
    """What has been read of a stream so far; times are readings of the monotonic clock in seconds."""

    sent_at: float
    parts: list[str] = field(default_factory=list)
    finish_reason: str = ""
    usage: CompletionUsage | None = None
    first_token_at: float | None = None
    last_token_at: float | None = None
    blank_tail: int = 0

    @property
    def text(self) -> str:
        """Give the answer without the model's reasoning."""
        return "".join(self.parts)

    @property
    def is_whole(self) -> bool:
        """Tell whether only the end mark can still follow."""
        return bool(self.finish_reason) and self.usage is not None

    @property
    def cached_tokens(self) -> int:
        """Give the prompt tokens that came from the engine's prefix cache; 0 where it does not say."""
        details = self.usage.prompt_tokens_details if self.usage else None
        return (details.cached_tokens if details else None) or 0

    @property
    def tokens_per_s(self) -> float | None:
        """Give the speed of writing: tokens after the first, over the time from the first to the last."""
        if self.usage is None or self.first_token_at is None or self.last_token_at is None:
            return None
        seconds = self.last_token_at - self.first_token_at
        tokens = self.usage.completion_tokens
        return (tokens - 1) / seconds if tokens >= 2 and seconds > 0 else None

    def add(self, chunk: ChatCompletionChunk) -> None:
        """Take in one event; raises AttemptFailed for an error event, WhitespaceRunaway for a loop."""
        if (chunk.model_extra or {}).get("message") and not chunk.choices:
            # The older error shape has no "error" key, so the client library lets it through.
            raise classify_stream_error(chunk.model_extra)
        if chunk.usage is not None:
            self.usage = chunk.usage
        if not chunk.choices:
            return
        choice = chunk.choices[0]
        self.finish_reason = choice.finish_reason or self.finish_reason
        delta = choice.delta
        text = delta.content or ""
        # Reasoning is no part of OpenAI's type; vLLM names it `reasoning`, others `reasoning_content`.
        thought = getattr(delta, "reasoning", None) or getattr(delta, "reasoning_content", None)
        if text or thought:
            self.last_token_at = time.monotonic()
            self.first_token_at = self.first_token_at or self.last_token_at
        if text:
            self.parts.append(text)
            self._watch_tail(text)

    def _watch_tail(self, text: str) -> None:
        blank = len(text) - len(text.rstrip())
        self.blank_tail = self.blank_tail + blank if blank == len(text) else blank
        if self.blank_tail > WHITESPACE_LIMIT:
            raise WhitespaceRunaway(self)


async def read_stream(events: AsyncIterator[ChatCompletionChunk], sent_at: float) -> Reading:
    """Read until the answer is whole; raises AttemptFailed if the stream ends or fails before that."""
    reading = Reading(sent_at=sent_at)
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(None) as end_mark:
            async for chunk in events:
                reading.add(chunk)
                if reading.is_whole:
                    end_mark.reschedule(loop.time() + _END_MARK_S)
    except (openai.APIError, json.JSONDecodeError, UnicodeDecodeError, TimeoutError) as error:
        if not reading.is_whole:
            raise _explain(error) from error
    if not reading.finish_reason:
        raise AttemptFailed("the engine ended its answer before it was complete")
    return reading


def _explain(error: Exception) -> Exception:
    if isinstance(error, openai.APIConnectionError):
        return AttemptFailed("the connection to the engine broke while it was writing")
    if isinstance(error, openai.APIError):
        return classify_stream_error(error.body)
    return AttemptFailed("the engine's stream could not be read", engine_fault=True)

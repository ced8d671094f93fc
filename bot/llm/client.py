"""The engine behind an OpenAI-compatible address: one question, one measured answer, one deadline.

Every request runs on an event loop of the client's own, in one thread. Asking blocks the caller; the deadline
cancels the request on the loop, which closes its connection, and vLLM frees a slot when its client goes away.
"""

import asyncio
import concurrent.futures
import json
import threading
import time
from collections.abc import Callable, Coroutine
from typing import TypeVar

import openai

from bot.llm.base import (
    Answer,
    EngineInfo,
    LlmCancelled,
    LlmDeadlineExceeded,
    LlmRefused,
    LlmUnavailable,
    Question,
)
from bot.llm.failures import AttemptFailed, ExtrasRefused, FormatRefused, classify_status
from bot.llm.request import WEAKER_FORMAT, AnswerFormat, normalise_base_url, open_stream
from bot.llm.retry import retry
from bot.llm.slots import Slots
from bot.llm.stream import Reading, WhitespaceRunaway, read_stream

_CONNECT_TIMEOUT_S = 5.0
_CANCEL_POLL_S = 0.1

_T = TypeVar("_T")


class OpenAiLlm:
    """Ask one engine; implements `Llm`. Threads may share it; a process that forks makes a new one.

    `base_url` is taken with or without `/v1`. An empty `model` means the one that the engine serves.
    `concurrency` bounds the requests in flight. `answer_format` is the strictest `response_format` to try:
    an engine that refuses it is asked with the next weaker one from then on.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str = "",
        api_key: str = "",
        concurrency: int = 4,
        temperature: float = 0.0,
        answer_format: AnswerFormat = "json_schema",
        backoff_s: float = 0.5,
    ) -> None:
        self._base_url = normalise_base_url(base_url)
        self._model = model
        self._api_key = api_key
        self._concurrency = concurrency
        self._temperature = temperature
        self._backoff_s = backoff_s
        # What was learnt about the engine; each is written by the loop only.
        self._format = answer_format
        self._takes_extras = True
        self._info: EngineInfo | None = None
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def describe(self, deadline: float, cancelled: threading.Event | None = None) -> EngineInfo:
        """Ask which model is served and how long its context is; remembered after the first answer.

        Raises LlmRefused, naming what is served, if the configured model is not among it; LlmUnavailable,
        LlmDeadlineExceeded or LlmCancelled.
        """
        return self._run(lambda: self._describe(deadline), deadline, cancelled or threading.Event())

    def ask(self, question: Question) -> Answer:
        """Send one question and wait for the whole answer, with retries, until the question's deadline.

        Raises PromptTooLong, LlmRefused, LlmUnavailable, LlmDeadlineExceeded or LlmCancelled.
        """
        return self._run(lambda: self._answer(question), question.deadline, question.cancelled)

    def close(self) -> None:
        """Break off what is in flight and end the client's thread; it may not be asked afterwards."""
        with self._starting:
            loop, self._loop = self._loop, None
        if loop is not None:
            asyncio.run_coroutine_threadsafe(self._shut_down(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()

    async def _shut_down(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._engine.close()

    def _run(
        self,
        work: Callable[[], Coroutine[object, object, _T]],
        deadline: float,
        cancelled: threading.Event,
    ) -> _T:
        started = time.monotonic()

        async def until_deadline() -> _T:
            # The loop's clock is the monotonic clock, so the deadline can be handed over as it is.
            async with asyncio.timeout_at(deadline):
                return await work()

        future = asyncio.run_coroutine_threadsafe(until_deadline(), self._start())
        try:
            while not cancelled.is_set():
                if concurrent.futures.wait((future,), timeout=_CANCEL_POLL_S).done:
                    return future.result()
            raise LlmCancelled("the request was called off")
        except TimeoutError:
            seconds = max(0.0, deadline - started)
            raise LlmDeadlineExceeded(
                f"the engine did not finish its answer within {seconds:.3g} s"
            ) from None
        except concurrent.futures.CancelledError:
            raise LlmUnavailable("the request was cut off because the process is stopping") from None
        finally:
            # Also when the asking thread is interrupted: a request that nobody waits for must not hold a slot.
            future.cancel()

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._slots = Slots(self._concurrency)
                self._engine = openai.AsyncOpenAI(
                    base_url=self._base_url,
                    api_key=self._api_key
                    or "none",  # the library insists on one; engines without keys ignore it
                    max_retries=0,
                    timeout=openai.Timeout(None, connect=_CONNECT_TIMEOUT_S),
                )
                self._thread = threading.Thread(target=self._loop.run_forever, name="llm", daemon=True)
                self._thread.start()
            return self._loop

    async def _describe(self, deadline: float) -> EngineInfo:
        if self._info is None:
            self._info = await retry(lambda _: self._read_models(), deadline, self._backoff_s)
        return self._info

    async def _read_models(self) -> EngineInfo:
        try:
            # Raw, because the library fails over a web page where it expects a list of models.
            response = (await self._engine.models.with_raw_response.list()).http_response
        except openai.APIStatusError as error:
            raise classify_status(error, self._model) from error
        except openai.APIConnectionError as error:
            raise _away(error, self._base_url) from error
        try:
            served = {card["id"]: card for card in response.json()["data"]}
        except (ValueError, KeyError, TypeError) as error:
            raise LlmRefused(
                "there is no OpenAI-compatible engine at this address: set REDLINE_LLM_BASE_URL to one"
            ) from error
        if not served:
            raise AttemptFailed("the engine serves no model yet")
        model = self._model or next(iter(served))
        if model not in served:
            names = " or ".join(served)
            raise LlmRefused(
                f"the engine does not serve the model {model!r}: set REDLINE_LLM_MODEL to {names}"
            )
        card = served[model]
        # A LoRA adapter states no context of its own; its base model's holds.
        cards = (card, served.get(card.get("parent") or "", {}))
        contexts = (one.get("max_model_len") for one in cards)
        return EngineInfo(model=model, context_tokens=next((n for n in contexts if n), None))

    async def _answer(self, question: Question) -> Answer:
        started = time.monotonic()
        model = self._model or (await self._describe(question.deadline)).model
        unguided = False
        attempts = 0

        async def attempt(number: int) -> tuple[Reading, bool]:
            nonlocal attempts, unguided
            attempts = number
            form: AnswerFormat = "none" if unguided else self._format
            try:
                return await self._send(question, model, form, number), form == "json_schema"
            except WhitespaceRunaway as runaway:
                finish = _judge_runaway(runaway.reading)
                if form == "none" or finish == "stop":
                    runaway.reading.finish_reason = finish
                    return runaway.reading, form == "json_schema"
                unguided = True
                raise
            except FormatRefused as refusal:
                if form == "none":
                    raise LlmRefused(f'the engine refused the request as invalid: "{refusal}"') from refusal
                self._format = WEAKER_FORMAT[form]
                raise
            except ExtrasRefused as refusal:
                if not self._takes_extras:
                    raise LlmRefused(f'the engine refused the request as invalid: "{refusal}"') from refusal
                self._takes_extras = False
                raise
            except LlmRefused:
                self._info = None  # a restarted engine may serve another model: ask again next time
                raise

        reading, constrained = await retry(attempt, question.deadline, self._backoff_s)
        usage = reading.usage
        return Answer(
            text=reading.text,
            finish_reason=reading.finish_reason,
            model=model,
            prompt_tokens=usage.prompt_tokens if usage else 0,
            cached_tokens=reading.cached_tokens,
            completion_tokens=usage.completion_tokens if usage else 0,
            ttft_ms=((reading.first_token_at or time.monotonic()) - reading.sent_at) * 1000,
            total_ms=(time.monotonic() - started) * 1000,
            tokens_per_s=reading.tokens_per_s,
            attempts=attempts,
            constrained=constrained,
        )

    async def _send(self, question: Question, model: str, form: AnswerFormat, number: int) -> Reading:
        async with self._slots.hold(question.priority):
            sent_at = time.monotonic()
            try:
                stream = await open_stream(
                    self._engine,
                    question,
                    model=model,
                    form=form,
                    extras=self._takes_extras,
                    temperature=self._temperature,
                    attempt=number,
                )
            except openai.APIStatusError as error:
                raise classify_status(error, model) from error
            except openai.APIConnectionError as error:
                raise _away(error, self._base_url) from error
            async with stream:
                return await read_stream(stream, sent_at)


def _away(error: openai.APIConnectionError, base_url: str) -> AttemptFailed:
    is_timeout = isinstance(error, openai.APITimeoutError)
    cause = "no connection in time" if is_timeout else error.__cause__ or error
    return AttemptFailed(f"the engine at {base_url} cannot be reached ({cause}): see REDLINE_LLM_BASE_URL")


def _judge_runaway(reading: Reading) -> str:
    """Tell how an answer ended that runs out in white space: it may have been complete before."""
    try:
        json.loads(reading.text)
    except ValueError:
        return "length"
    return "stop"

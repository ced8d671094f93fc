"""Ask the engine about every chunk: side by side, again if an answer is unusable, in halves if it is too long."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

from bot.diff.chunk import Chunk, ChunkTooSmallError
from bot.llm.base import (
    Answer,
    Llm,
    LlmDeadlineExceeded,
    LlmError,
    LlmUnavailable,
    Message,
    PromptTooLong,
    Question,
)
from bot.llm.prompt import SCHEMA_NAME, answer_schema, build_messages
from bot.review.answers import ParsedAnswer, RawFinding, parse_answer
from bot.review.observer import Observer
from bot.review.result import LlmCall, ReviewOptions

# Each split halves the chunk: three bring the longest one to an eighth.
_MAX_SPLITS = 3
HIGH_PRIORITY = 0
LOW_PRIORITY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is under review, as the model is told, and the review's reference for request ids."""

    title: str = ""
    description: str = ""
    head_sha: str = ""
    base_sha: str = ""
    reference: str = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkAnswer:
    """What the model said of one chunk; `failure` says, as a phrase, why some or all of it is missing."""

    chunk: Chunk
    findings: tuple[RawFinding, ...] = ()
    failure: str = ""
    error: LlmError | None = None
    malformed: int = 0
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """All answers of a review and what they cost; `llm_ms` runs from the first question to the last answer."""

    answers: tuple[ChunkAnswer, ...]
    calls: tuple[LlmCall, ...]
    llm_ms: float

    @property
    def model(self) -> str:
        """Give the model's name as the engine tells it."""
        return next((call.model for call in self.calls if call.model), "")

    @property
    def ttft_ms(self) -> float | None:
        """Give the time to first token of the first call that got one."""
        return next((call.ttft_ms for call in self.calls if call.ttft_ms is not None), None)

    @property
    def tokens_per_s(self) -> float | None:
        """Give the generation speed over all calls: tokens after each first one, over the time they took."""
        measured = [
            (call.completion_tokens - 1, call.tokens_per_s) for call in self.calls if call.tokens_per_s
        ]
        seconds = sum(tokens / speed for tokens, speed in measured if speed)
        return sum(tokens for tokens, _ in measured) / seconds if seconds else None


def ask_chunks(
    chunks: Sequence[Chunk],
    subject: Subject,
    *,
    llm: Llm,
    options: ReviewOptions,
    priority: int,
    observer: Observer,
    clock: Callable[[], float] = time.monotonic,
) -> Asked:
    """Ask about all chunks, as many at once as the options allow.

    Raises LlmRefused at once, and the engine's error if no chunk at all got an answer; other failures are told
    by the answers. An exception from the observer breaks off the requests in flight.
    """
    if not chunks:
        return Asked(answers=(), calls=(), llm_ms=0.0)
    run = _Run(
        subject=subject,
        llm=llm,
        options=options,
        priority=priority,
        observer=observer,
        clock=clock,
        chunks=len(chunks),
    )
    started = clock()
    answers = run.ask_all(chunks)
    if all(answer.error for answer in answers):
        raise next(answer.error for answer in answers if answer.error)
    return Asked(answers=tuple(answers), calls=tuple(run.calls), llm_ms=(clock() - started) * 1000)


@dataclass(slots=True, kw_only=True)
class _Run:
    subject: Subject
    llm: Llm
    options: ReviewOptions
    priority: int
    observer: Observer
    clock: Callable[[], float]
    chunks: int
    calls: list[LlmCall] = field(default_factory=list)

    def ask_all(self, chunks: Sequence[Chunk]) -> list[ChunkAnswer]:
        by_chunk: dict[int, list[ChunkAnswer]] = {}
        self.observer.on_progress(0, len(chunks))
        workers = min(self.options.concurrency, len(chunks))
        with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="ask") as pool:
            numbers = {pool.submit(self.ask_one, chunk): number for number, chunk in enumerate(chunks)}
            pending: set[Future[list[ChunkAnswer]]] = set(numbers)
            try:
                while pending:
                    finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                    for future in finished:
                        by_chunk[numbers[future]] = future.result()
                    self.observer.on_progress(len(by_chunk), len(chunks))
            except BaseException:
                self.observer.cancelled.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [answer for number in sorted(by_chunk) for answer in by_chunk[number]]

    def ask_one(self, chunk: Chunk, splits: int = 0) -> list[ChunkAnswer]:
        messages = build_messages(
            chunk.text,
            title=self.subject.title,
            description=self.subject.description,
            guidelines=self.options.guidelines,
            language=self.options.language,
        )
        try:
            parsed = self.ask_readably(chunk, messages)
        except PromptTooLong as error:
            if not chunk.is_bare:
                return self.ask_one(chunk.bare(), splits)
            return self.ask_halves(chunk, splits, "it is too long for the engine's context", error)
        except (LlmUnavailable, LlmDeadlineExceeded) as error:
            return [ChunkAnswer(chunk=chunk, failure=str(error), error=error)]
        answer = ChunkAnswer(
            chunk=chunk, findings=parsed.items, failure=parsed.problem or "", malformed=parsed.malformed
        )
        if parsed.complete:
            return [answer]
        # The findings that were complete are kept, and the halves are asked for the rest; what is found twice
        # has the same fingerprint and is kept once.
        whole = replace(answer, failure="", truncated=True)
        return [whole, *self.ask_halves(chunk, splits, "the answer was cut off at the token limit", None)]

    def ask_halves(
        self, chunk: Chunk, splits: int, failure: str, error: LlmError | None
    ) -> list[ChunkAnswer]:
        try:
            halves = chunk.split() if splits < _MAX_SPLITS else ()
        except ChunkTooSmallError:
            halves = ()
        if not halves:
            return [ChunkAnswer(chunk=chunk, failure=failure, error=error)]
        return [answer for half in halves for answer in self.ask_one(half, splits + 1)]

    def ask_readably(self, chunk: Chunk, messages: tuple[Message, ...]) -> ParsedAnswer:
        """Ask, and ask once more with the problem named if the answer cannot be read."""
        parsed = self.ask(chunk, messages)
        if not parsed.problem:
            return parsed
        complaint = Message(
            role="user",
            content=f"Your answer could not be used: {parsed.problem}. Answer again, as JSON only.",
        )
        return self.ask(chunk, (*messages, complaint))

    def ask(self, chunk: Chunk, messages: tuple[Message, ...]) -> ParsedAnswer:
        started = self.clock()
        question = Question(
            messages=messages,
            schema_name=SCHEMA_NAME,
            schema=answer_schema(chunk.text),
            max_output_tokens=self.options.answer_tokens,
            priority=self.priority,
            deadline=started + self.options.deadline_s,
            request_id=f"{self.subject.reference}-{chunk.index}",
            cancelled=self.observer.cancelled,
        )
        try:
            answer = self.llm.ask(question)
        except LlmError as error:
            self.record(
                LlmCall(
                    chunk=chunk.index,
                    model="",
                    priority=self.priority,
                    outcome=type(error).__name__,
                    error=str(error),
                    total_ms=(self.clock() - started) * 1000,
                )
            )
            raise
        parsed = parse_answer(answer.text, answer.finish_reason)
        self.record(_call(chunk, answer, self.priority, parsed))
        return parsed

    def record(self, call: LlmCall) -> None:
        self.calls.append(call)
        self.observer.on_call(call)


def _call(chunk: Chunk, answer: Answer, priority: int, parsed: ParsedAnswer) -> LlmCall:
    return LlmCall(
        chunk=chunk.index,
        model=answer.model,
        priority=priority,
        outcome="unreadable" if parsed.problem else "answered" if parsed.complete else "cut_off",
        error=parsed.problem or "",
        finish_reason=answer.finish_reason,
        prompt_tokens=answer.prompt_tokens,
        cached_tokens=answer.cached_tokens,
        completion_tokens=answer.completion_tokens,
        ttft_ms=answer.ttft_ms,
        total_ms=answer.total_ms,
        tokens_per_s=answer.tokens_per_s,
    )

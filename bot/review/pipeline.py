"""One review, start to end: check, fetch, parse, clean, cut, chunk, ask, anchor, choose. Read this file first.

It takes the forge, the engine and the clock as arguments and does not know the database, so the command
line, a test and a Celery worker run the same code. Publishing is a step of its own (`publish.py`), so that an
error there never costs a second run of the model.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from bot.diff.chunk import chunk_files
from bot.diff.clean import clean_diff, estimate_tokens
from bot.diff.parse import parse_diff
from bot.diff.since import Since, keep_new
from bot.forges.base import FetchedDiff, Forge
from bot.llm.base import Llm, LlmDeadlineExceeded, LlmRefused, LlmUnavailable
from bot.review.ask import HIGH_PRIORITY, LOW_PRIORITY, Subject, ask_chunks
from bot.review.checks import check
from bot.review.choose import choose, drop_minor
from bot.review.context import ReadHead, fetch_heads
from bot.review.cover import cover
from bot.review.incremental import drop_said, find_earlier, find_since
from bot.review.observer import Observer
from bot.review.place import place_findings
from bot.review.repository_file import read_repository_file
from bot.review.result import ReviewOptions, ReviewRequest, ReviewResult
from bot.review.secrets import redact_diff, redact_text

Clock = Callable[[], float]

# Room in the context beside the chunk and the answer: the system prompt (at most 500 tokens), the frame with
# the pull request's title and description, and what an estimate of characters / 3 may be wrong by.
_FRAME_TOKENS = 1100
_LEAST_CHUNK_TOKENS = 300
_ASSUMED_CONTEXT_TOKENS = 8192


def run_review(
    request: ReviewRequest,
    *,
    forge: Forge,
    llm: Llm,
    options: ReviewOptions,
    observer: Observer | None = None,
    clock: Clock = time.monotonic,
) -> ReviewResult:
    """Review a pull request up to, but without, publishing.

    Raises ReviewStopped where nothing is to be done, ForgeError, LlmError and DiffSyntaxError.
    """
    observer = observer or Observer()
    started = clock()
    pull_request = check(request, forge)
    observer.on_head(pull_request)
    wishes = read_repository_file(forge, pull_request)
    fetched = forge.get_diff(pull_request)
    since = find_since(request.last, pull_request, forge)
    fetch_ms = (clock() - started) * 1000
    subject = Subject(
        title=redact_text(pull_request.title),
        description=redact_text(pull_request.body),
        head_sha=pull_request.head_sha,
        base_sha=pull_request.base_sha,
        reference=request.reference,
    )
    result = review_diff(
        fetched,
        subject,
        llm=llm,
        options=wishes.apply(options),
        since=since,
        read_head=lambda path, max_bytes: forge.get_file(
            pull_request.ref, path, pull_request.head_sha, max_bytes=max_bytes
        ),
        observer=observer,
        final_attempt=request.final_attempt,
        clock=clock,
    )
    if since and request.last:
        findings = drop_said(result.findings, request.known)
        earlier = find_earlier(request.last, result.coverage, findings)
        result = replace(result, findings=findings, earlier=earlier)
    return replace(
        result,
        base_ref=pull_request.base_ref,
        notes=wishes.problems,
        fetch_ms=result.fetch_ms + fetch_ms,
    )


def review_diff(
    fetched: FetchedDiff,
    subject: Subject,
    *,
    llm: Llm,
    options: ReviewOptions,
    since: Since | None = None,
    read_head: ReadHead | None = None,
    observer: Observer | None = None,
    final_attempt: bool = True,
    clock: Clock = time.monotonic,
) -> ReviewResult:
    """Review a diff, wherever it came from. Raises DiffSyntaxError, LlmError and ReviewStopped.

    With `since` only what is new is read. `read_head` gives files of the head, for the lines around. Unless it is
    the final attempt, an engine that was down or too slow for a part of the diff fails the whole.
    """
    observer = observer or Observer()
    started = clock()
    cleaned = clean_diff(redact_diff(parse_diff(fetched.data)), options.ignore)
    cleaned, read_before = keep_new(cleaned, since) if since else (cleaned, ())
    clean_ms = (clock() - started) * 1000
    # With nothing to ask, no engine is needed.
    budget = _chunk_budget(llm, options, observer, clock) if cleaned.kept else 0
    started = clock()
    chunks = chunk_files(cleaned.kept, budget) if cleaned.kept else ()
    estimated_tokens = sum(chunk.estimated_tokens for chunk in chunks)
    clean_ms += (clock() - started) * 1000
    observer.on_size(estimated_tokens)

    # After the size is told: a review that moves to the other queue has asked for no file yet.
    started = clock()
    heads = fetch_heads(cleaned.kept, read_head) if read_head else {}
    fetch_ms = (clock() - started) * 1000
    chunks = tuple(chunk.surround(heads, budget) for chunk in chunks)
    priority = LOW_PRIORITY if estimated_tokens > options.low_queue_tokens else HIGH_PRIORITY
    asked = ask_chunks(
        chunks, subject, llm=llm, options=options, priority=priority, observer=observer, clock=clock
    )
    for answer in asked.answers:
        if isinstance(answer.error, LlmUnavailable | LlmDeadlineExceeded) and not final_attempt:
            raise answer.error
    findings, dropped = place_findings(asked.answers, fetched.blind_spots)
    findings, below_minimum = drop_minor(findings, options.minimum_severity)
    since_sha = since.sha if since else ""
    return ReviewResult(
        head_sha=subject.head_sha,
        base_sha=subject.base_sha,
        findings=choose(findings, options.max_comments),
        coverage=cover(cleaned, fetched.missing, asked.answers, read_before=read_before, since_sha=since_sha),
        since_sha=since_sha,
        minimum_severity=options.minimum_severity,
        below_minimum=below_minimum,
        model=asked.model,
        estimated_tokens=estimated_tokens,
        chunks=len(chunks),
        llm_calls=len(asked.calls),
        prompt_tokens=sum(call.prompt_tokens for call in asked.calls),
        cached_tokens=sum(call.cached_tokens for call in asked.calls),
        completion_tokens=sum(call.completion_tokens for call in asked.calls),
        truncated=any(answer.truncated for answer in asked.answers),
        dropped=dropped,
        fetch_ms=fetch_ms,
        clean_ms=clean_ms,
        ttft_ms=asked.ttft_ms,
        llm_ms=asked.llm_ms,
        tokens_per_s=asked.tokens_per_s,
    )


def _chunk_budget(llm: Llm, options: ReviewOptions, observer: Observer, clock: Clock) -> int:
    """Give the tokens that one chunk may have in the engine's context."""
    served = llm.describe(clock() + options.deadline_s, observer.cancelled)
    context = served.context_tokens or _ASSUMED_CONTEXT_TOKENS
    guidelines_tokens = estimate_tokens(len(options.guidelines.encode()))
    room = context - options.answer_tokens - _FRAME_TOKENS - guidelines_tokens
    if room < _LEAST_CHUNK_TOKENS:
        raise LlmRefused(
            f"the engine's context of {context} tokens leaves no room for a diff beside answers of "
            f"{options.answer_tokens} tokens: serve the model with a larger --max-model-len, or lower "
            "REDLINE_LLM_ANSWER_TOKENS"
        )
    return min(room, options.chunk_tokens)

"""What an engine's refusal means: wait and ask again, split the prompt, or change a setting.

Engines word the same refusal differently; everything that depends on wording is in this module.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import openai

from bot.llm.base import LlmError, LlmRefused, PromptTooLong

# Texts: vLLM (vllm/renderers/params.py, and its wording before 0.13), OpenAI, SGLang, llama.cpp, TGI.
_SIZING = re.compile(
    r"maximum context length|context.length|context.size|context.window|exceed_context_size"
    r"|must have less than \d+ tokens",
    re.IGNORECASE,
)
_CONTEXT_TOKENS = (
    re.compile(r"maximum context length (?:is|of) (\d+)", re.IGNORECASE),
    re.compile(r"context (?:length|size|window)[^\d.]{0,20}(\d+)", re.IGNORECASE),
    re.compile(r"less than (\d+) tokens", re.IGNORECASE),
)
_PROMPT_TOKENS = (
    re.compile(r"(\d+) (?:tokens )?(?:in|from) the (?:input )?(?:messages|prompt)", re.IGNORECASE),
    # Not "at least N": there vLLM stopped counting one token behind its limit, so N says nothing.
    re.compile(r"prompt contains (\d+) input tokens", re.IGNORECASE),
    re.compile(r"request has (\d+) input tokens", re.IGNORECASE),
    re.compile(r"(?:resulted in|requested) (\d+) tokens", re.IGNORECASE),
    re.compile(r"(?:input|request|prompt) \((\d+) tokens\)", re.IGNORECASE),
    re.compile(r"Given: (\d+)", re.IGNORECASE),
)
_ANSWER_TOO_LONG = re.compile(r"cannot be greater than max_model_len", re.IGNORECASE)
_FORMAT = re.compile(
    r"response_format|json_schema|json_object|structured|guided|grammar|schema", re.IGNORECASE
)
_EXTRAS = re.compile(r"priority|repetition_penalty|extra (?:fields|inputs)", re.IGNORECASE)


class AttemptFailed(Exception):
    """One attempt failed in a way that another may not: the engine was away, busy, or broke off.

    `engine_fault` marks an internal error of the engine, which is worth one more attempt only.
    """

    def __init__(
        self, message: str, *, engine_fault: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.engine_fault = engine_fault
        self.retry_after_s = retry_after_s


class RequestChanged(Exception):
    """The attempt failed, and the next one asks in another way, so it need not wait."""


class FormatRefused(RequestChanged):
    """The engine does not take this `response_format`."""


class ExtrasRefused(RequestChanged):
    """The engine does not take a field that is no part of OpenAI's own interface."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """What an engine says went wrong, whichever shape it was sent in."""

    message: str
    param: str


def read_complaint(body: object) -> Complaint:
    """Read `{"error": {...}}`, `{"error": "text"}`, `{"message": ...}`, `{"detail": ...}` or plain text."""
    if isinstance(body, Mapping):
        inner = body.get("error")
        if isinstance(inner, Mapping | str) and inner:
            return read_complaint(inner)
        text = body.get("message") or body.get("detail") or ""
        return Complaint(message=str(text), param=str(body.get("param") or ""))
    return Complaint(message=str(body or ""), param="")


def classify_status(error: openai.APIStatusError, model: str) -> Exception:
    """Turn an HTTP error of the engine into what should happen next."""
    complaint = read_complaint(error.body)
    status = error.status_code
    if status in (400, 413, 422):
        return _classify_bad_request(complaint)
    if status in (401, 403):
        return LlmRefused(
            f"the engine refused the key (HTTP {status}): set REDLINE_LLM_API_KEY to one that it accepts"
        )
    if status == 404:
        return _classify_not_found(complaint, model)
    if status in (408, 425, 429, 502, 503, 504):
        return AttemptFailed(
            f"the engine is busy or not ready (HTTP {status}{_quote(complaint)})",
            retry_after_s=_read_retry_after(error.response.headers.get("retry-after")),
        )
    if status >= 500:
        return AttemptFailed(f"the engine failed (HTTP {status}{_quote(complaint)})", engine_fault=True)
    return LlmRefused(f"the engine refused the request (HTTP {status}{_quote(complaint)})")


def classify_stream_error(body: object) -> Exception:
    """Turn an error event inside a stream that began with 200 into what a 500 would have meant."""
    complaint = read_complaint(body)
    return AttemptFailed(
        f"the engine failed while it was writing{_quote(complaint, ': ')}", engine_fault=True
    )


def _classify_bad_request(complaint: Complaint) -> Exception:
    text = f"{complaint.message} {complaint.param}"
    if _ANSWER_TOO_LONG.search(text):
        return LlmRefused(
            "the engine's context is shorter than one answer may be: lower REDLINE_LLM_ANSWER_TOKENS"
            f"{_quote(complaint)}"
        )
    if _SIZING.search(text):
        return _prompt_too_long(complaint)
    if _FORMAT.search(text):
        return FormatRefused(complaint.message)
    if _EXTRAS.search(text):
        return ExtrasRefused(complaint.message)
    return LlmRefused(f"the engine refused the request as invalid{_quote(complaint, ': ')}")


def _prompt_too_long(complaint: Complaint) -> PromptTooLong:
    context = _first_number(_CONTEXT_TOKENS, complaint.message)
    prompt = _first_number(_PROMPT_TOKENS, complaint.message)
    counts = f" ({prompt or 'too many'} tokens for a context of {context})" if context else ""
    return PromptTooLong(
        f"the prompt does not fit the engine's context{counts}", context_tokens=context, prompt_tokens=prompt
    )


def _classify_not_found(complaint: Complaint, model: str) -> LlmError:
    if "model" in f"{complaint.message} {complaint.param}".lower():
        return LlmRefused(
            f"the engine does not serve the model {model!r}: set REDLINE_LLM_MODEL to one that it serves"
        )
    return LlmRefused(
        "there is no OpenAI-compatible engine at this address (HTTP 404): set REDLINE_LLM_BASE_URL to one"
    )


def _first_number(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    for pattern in patterns:
        match = pattern.search(text)
        if match:
            return int(match.group(1))
    return None


def _quote(complaint: Complaint, before: str = ", ") -> str:
    """Repeat the engine's own words, on one line and bounded, for the person who looks into it."""
    words = " ".join(complaint.message.split())[:300]
    return f'{before}"{words}"' if words else ""


def _read_retry_after(value: str | None) -> float | None:
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None

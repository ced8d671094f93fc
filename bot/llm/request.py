"""One request to an OpenAI-compatible engine: its address, its fields, its stream."""

import re
import secrets
from typing import Literal, cast

import openai
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam

from bot.llm.base import Question

AnswerFormat = Literal["json_schema", "json_object", "none"]

WEAKER_FORMAT: dict[AnswerFormat, AnswerFormat] = {"json_schema": "json_object", "json_object": "none"}


def normalise_base_url(url: str) -> str:
    """Give the address that `/chat/completions` is appended to, from one with or without its version."""
    bare = url.strip().rstrip("/")
    return bare if re.search(r"/v\d+$", bare) else f"{bare}/v1"


async def open_stream(
    engine: openai.AsyncOpenAI,
    question: Question,
    *,
    model: str,
    form: AnswerFormat,
    extras: bool,
    temperature: float,
    attempt: int,
) -> openai.AsyncStream[ChatCompletionChunk]:
    """Send a question and return its stream; `extras` adds the field that is vLLM's own.

    Raises what the openai library raises.
    """
    body: dict[str, object] = {}
    if form == "json_schema":
        schema = {"name": question.schema_name, "schema": dict(question.schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif form == "json_object":
        body["response_format"] = {"type": "json_object"}
    if extras:
        body["priority"] = question.priority
    messages = [{"role": one.role, "content": one.content} for one in question.messages]
    return await engine.chat.completions.create(
        model=model,
        messages=cast("list[ChatCompletionMessageParam]", messages),
        stream=True,
        stream_options={"include_usage": True},
        temperature=temperature,
        top_p=1.0,
        max_completion_tokens=question.max_output_tokens,
        extra_body=body,
        # An engine refuses an id that is still in use, and a broken attempt may live on for a moment.
        extra_headers={"X-Request-Id": f"{question.request_id}-{attempt}-{secrets.token_hex(3)}"},
    )

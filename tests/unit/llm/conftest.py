"""A served model that misbehaves on demand, and a client that is quick to try again."""

import time
from collections.abc import Callable, Iterator

import pytest

from bot.llm.base import Message, Question
from bot.llm.client import OpenAiLlm
from bot.llm.prompt import ANSWER_SCHEMA, SCHEMA_NAME
from tests.llm_server import LlmServer


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer().start() as running:
        yield running


@pytest.fixture
def connect() -> Iterator[Callable[..., OpenAiLlm]]:
    opened = []

    def open_client(server: LlmServer | None, **options) -> OpenAiLlm:
        address = {"base_url": server.base_url} if server else {}
        opened.append(OpenAiLlm(**{"backoff_s": 0.01, **address, **options}))
        return opened[-1]

    yield open_client
    for client in opened:
        client.close()


@pytest.fixture
def llm(server: LlmServer, connect) -> OpenAiLlm:
    return connect(server)


@pytest.fixture
def question() -> Callable[..., Question]:
    def make(text: str = "Is this right?", *, seconds: float = 5, **changes) -> Question:
        values = {
            "messages": (Message(role="system", content="Review. " * 40), Message(role="user", content=text)),
            "schema_name": SCHEMA_NAME,
            "schema": ANSWER_SCHEMA,
            "max_output_tokens": 200,
            "priority": 0,
            "deadline": time.monotonic() + seconds,
            "request_id": "review-7-0",
        }
        return Question(**{**values, **changes})

    return make

"""The real engine: the one at REDLINE_TEST_ENGINE_URL, or the installed one, started once for all tests here."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.llm.base import Question
from bot.llm.client import OpenAiLlm
from bot.llm.prompt import SCHEMA_NAME, answer_schema, build_messages
from bot.llm.request import normalise_base_url

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "deploy/vllm/engine.py"
START_S = 600
ASK_S = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A served engine and its addresses beside the chat."""

    base_url: str
    model: str

    @property
    def address(self) -> str:
        return self.base_url.removesuffix("/v1")

    def count_tokens(self, text: str) -> int:
        body = {"model": self.model, "prompt": text, "add_special_tokens": False}
        return (
            httpx.post(f"{self.address}/tokenize", json=body, timeout=60).raise_for_status().json()["count"]
        )

    def gauge(self, name: str) -> float:
        text = httpx.get(f"{self.address}/metrics", timeout=60).raise_for_status().text
        return sum(
            float(value) for value in re.findall(rf"^{re.escape(name)}{{.*}} (\S+)$", text, re.MULTILINE)
        )


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    url = os.environ.get("REDLINE_TEST_ENGINE_URL")
    if url:
        yield _connect(normalise_base_url(url))
        return
    home = Path(os.environ.get("ENGINE_DIR") or ROOT / ".engine")
    if not (home / "installed.json").exists():
        pytest.fail(
            "no engine is installed: run  make engine-install, or set REDLINE_TEST_ENGINE_URL", pytrace=False
        )
    ready = tmp_path_factory.mktemp("engine") / "ready.json"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(SCRIPT), "serve", "--port", str(port), "--ready-file", str(ready)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        limit = time.monotonic() + START_S
        while not ready.exists():
            if process.poll() is not None:
                pytest.fail(f"the engine did not start:\n{process.communicate()[1]}", pytrace=False)
            assert time.monotonic() < limit, "the engine did not start in time"
            time.sleep(0.5)
        yield _connect(json.loads(ready.read_text())["base_url"])
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def _connect(base_url: str) -> Engine:
    client = OpenAiLlm(base_url=base_url)
    try:
        return Engine(base_url=base_url, model=client.describe(time.monotonic() + 60).model)
    finally:
        client.close()


@pytest.fixture(scope="session")
def connect(engine: Engine) -> Iterator[Callable[..., OpenAiLlm]]:
    opened = []

    def open_client(**options: Any) -> OpenAiLlm:
        opened.append(OpenAiLlm(base_url=engine.base_url, **options))
        return opened[-1]

    yield open_client
    for client in opened:
        client.close()


@pytest.fixture(scope="session")
def llm(connect: Callable[..., OpenAiLlm]) -> OpenAiLlm:
    return connect()


@pytest.fixture(scope="session")
def make_question() -> Callable[..., Question]:
    def make(chunk: str, **changes: Any) -> Question:
        values: dict[str, Any] = {
            "messages": build_messages(chunk, title="Change the code"),
            "schema_name": SCHEMA_NAME,
            "schema": answer_schema(chunk),
            "max_output_tokens": 400,
            "priority": 0,
            "deadline": time.monotonic() + ASK_S,
            "request_id": "engine-test",
        }
        return Question(**{**values, **changes})

    return make

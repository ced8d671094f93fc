"""What the review relies on, asked of the real engine."""

import json
import threading
import time

import jsonschema
import pytest

from bot.llm.base import LlmCancelled, LlmRefused, Message, PromptTooLong
from bot.llm.prompt import SYSTEM_PROMPT, answer_schema
from bot.review.answers import parse_answer
from tests.engine.chunks import CHUNKS

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

SLOTS = 8  # max-num-seqs of the profile
RUNNING = "vllm:num_requests_running"
WAITING = "vllm:num_requests_waiting"


def wait_for(condition, what, seconds=120):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, f"never happened: {what}"
        time.sleep(0.05)


def write_long(priority=0, tokens=400):
    """Ask for text that goes on for hundreds of tokens; each prompt is another, so that none comes from the cache."""
    text = f"Write a long story about a river, chapter by chapter. Number {time.monotonic_ns()}."
    return {
        "messages": (Message(role="user", content=text),),
        "max_output_tokens": tokens,
        "priority": priority,
    }


@pytest.fixture(scope="session")
def writer(connect):
    """A client that asks for plain text."""
    return connect(concurrency=64, answer_format="none")


def test_the_system_prompt_has_at_most_500_tokens(engine):
    assert engine.count_tokens(SYSTEM_PROMPT) <= 500


def test_the_context_is_what_the_engine_was_started_with(engine, llm):
    info = llm.describe(time.monotonic() + 30)
    assert info.model == engine.model
    assert info.context_tokens >= 4096


@pytest.fixture(scope="session")
def answers(llm, make_question):
    return {name: llm.ask(make_question(chunk)) for name, chunk in CHUNKS.items()}


@pytest.mark.parametrize("name", CHUNKS)
def test_an_answer_is_valid_under_the_schema_and_names_only_lines_of_the_diff(answers, name):
    answer = answers[name]
    assert answer.constrained
    parsed = parse_answer(answer.text, answer.finish_reason)
    assert parsed.problem is None
    assert parsed.malformed == 0
    if answer.finish_reason == "stop":
        jsonschema.validate(json.loads(answer.text), answer_schema(CHUNKS[name]))
        assert parsed.complete
    else:
        assert not parsed.complete
    lines = dict(line.split(" ", 1) for line in CHUNKS[name].splitlines() if line[:1].isdigit())
    for finding in parsed.items:
        assert lines[finding.line][1:].startswith(finding.quote)


def test_there_is_something_to_show(answers):
    parsed = {name: parse_answer(answer.text, answer.finish_reason) for name, answer in answers.items()}
    assert sum(bool(one.items) for one in parsed.values()) >= 4


def test_time_speed_and_usage_are_measured(answers):
    for answer in answers.values():
        assert 0 < answer.ttft_ms < answer.total_ms
        assert answer.tokens_per_s > 0
        assert answer.prompt_tokens > answer.completion_tokens > 1


def test_a_known_prefix_is_read_from_the_cache(llm, make_question):
    chunk = CHUNKS["open_port"]
    llm.ask(make_question(chunk))
    again = llm.ask(make_question(chunk + "2R22 +    pass\n"))
    assert 0 < again.cached_tokens < again.prompt_tokens


def test_a_prompt_beyond_the_context_is_told_with_its_numbers(llm, make_question):
    context = llm.describe(time.monotonic() + 30).context_tokens
    with pytest.raises(PromptTooLong) as caught:
        llm.ask(make_question("1R1 +word\n" * context))
    assert caught.value.context_tokens == context


def test_an_unknown_model_is_refused(connect, make_question):
    with pytest.raises(LlmRefused, match="REDLINE_LLM_MODEL"):
        connect(model="no-such-model").ask(make_question("1R1 +x = 1"))


def test_a_cut_answer_says_so(writer, make_question):
    answer = writer.ask(make_question("1R1 +x = 1", **write_long(tokens=20)))
    assert (answer.finish_reason, answer.completion_tokens) == ("length", 20)


def test_a_cancelled_request_frees_its_slot(engine, writer, make_question):
    wait_for(lambda: engine.gauge(RUNNING) == 0, "the engine is idle")
    cancelled = threading.Event()
    caught = []

    def ask():
        try:
            writer.ask(make_question("x", **write_long(tokens=2000), cancelled=cancelled))
        except LlmCancelled as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    wait_for(lambda: engine.gauge(RUNNING) == 1, "the request runs")
    cancelled.set()
    thread.join(10)
    assert caught
    wait_for(lambda: engine.gauge(RUNNING) == 0, "the slot is free", seconds=15)


def test_a_more_urgent_request_that_comes_later_is_answered_first(engine, writer, make_question):
    wait_for(lambda: engine.gauge(RUNNING) == 0, "the engine is idle")
    order = []
    cancelled = threading.Event()

    def ask(name, **changes):
        try:
            writer.ask(make_question("x", **changes))
            order.append(name)
        except LlmCancelled:
            pass

    def start(name, **changes):
        thread = threading.Thread(target=ask, args=(name,), kwargs=changes)
        thread.start()
        return thread

    # All slots but one are held until the end, so that the two in question get the same one after each other.
    holders = [start("holder", **write_long(0, 2000), cancelled=cancelled) for _ in range(SLOTS - 1)]
    try:
        blocker = start("blocker", **write_long(0, 60))
        wait_for(lambda: engine.gauge(RUNNING) == SLOTS, "all slots are taken")
        late = start("low", **write_long(10, 2))
        wait_for(lambda: engine.gauge(WAITING) == 1, "the first waits")
        urgent = start("high", **write_long(-10, 2))
        for thread in (blocker, late, urgent):
            thread.join(300)
        assert order == ["blocker", "high", "low"]
    finally:
        cancelled.set()
        for thread in holders:
            thread.join(30)

"""G11 and H1: an engine that fails or stalls costs at most the deadline, and gets its slot back."""

import threading
import time

import pytest

from bot.llm.base import LlmCancelled, LlmDeadlineExceeded, LlmUnavailable
from bot.llm.client import OpenAiLlm


@pytest.mark.parametrize(
    "stall",
    [
        pytest.param(lambda server: server.hang(-1), id="accepts and says nothing"),
        pytest.param(lambda server: server.hang(0), id="headers only"),
        pytest.param(lambda server: server.hang(3), id="hangs in mid-stream"),
        pytest.param(lambda server: server.drip(0.1), id="drips"),
    ],
)
def test_h1_a_stalling_engine_is_cut_off_at_the_deadline_and_its_slot_is_freed(server, llm, question, stall):
    llm.describe(time.monotonic() + 5)
    stall(server)
    started = time.monotonic()
    with pytest.raises(LlmDeadlineExceeded, match=r"within 0\.4 s"):
        llm.ask(question(seconds=0.4))
    assert 0.39 <= time.monotonic() - started < 0.8
    assert server.requests[0].ended.wait(2)
    assert server.requests[0].closed_early
    assert llm.ask(question()).finish_reason == "stop"


def test_h1_retries_do_not_multiply_the_deadline(server, llm, question):
    llm.describe(time.monotonic() + 5)
    server.fail(503, 2)
    server.hang(2)
    started = time.monotonic()
    with pytest.raises(LlmDeadlineExceeded):
        llm.ask(question(seconds=0.5))
    assert time.monotonic() - started < 0.9
    assert [request.status for request in server.requests] == [503, 503, 200]


def test_h1_waiting_for_a_place_counts_against_the_deadline(server, connect, question):
    llm = connect(server, concurrency=1)
    llm.describe(time.monotonic() + 5)
    server.hang(2)

    def hold() -> None:
        with pytest.raises(LlmDeadlineExceeded):
            llm.ask(question(seconds=1.5))

    holder = threading.Thread(target=hold)
    holder.start()
    while not server.requests:
        time.sleep(0.01)
    started = time.monotonic()
    with pytest.raises(LlmDeadlineExceeded):
        llm.ask(question(seconds=0.3))
    assert time.monotonic() - started < 0.7
    holder.join()
    assert len(server.requests) == 1


def test_a_deadline_in_the_past_sends_nothing(server, llm, question):
    llm.describe(time.monotonic() + 5)
    with pytest.raises(LlmDeadlineExceeded):
        llm.ask(question(seconds=-1))
    assert server.requests == []


def test_the_whole_answer_is_taken_although_the_end_mark_never_comes(server, llm, question):
    # The role, eight tokens and the usage: only [DONE] is missing then.
    server.hang(after_chunks=10)
    assert llm.ask(question(seconds=3)).text == '{"findings":[]}'


def test_a_cancelled_question_ends_at_once_and_frees_its_slot(server, llm, question):
    server.hang(3)
    cancelled = threading.Event()
    times = []

    def cancel() -> None:
        while not server.requests:
            time.sleep(0.01)
        times.append(time.monotonic())
        cancelled.set()

    threading.Thread(target=cancel).start()
    with pytest.raises(LlmCancelled):
        llm.ask(question(seconds=30, cancelled=cancelled))
    assert time.monotonic() - times[0] < 1
    assert server.requests[0].ended.wait(2)
    assert server.requests[0].closed_early


def test_a_question_that_is_cancelled_before_it_is_asked_sends_nothing(server, llm, question):
    llm.describe(time.monotonic() + 5)
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(LlmCancelled):
        llm.ask(question(cancelled=cancelled))
    assert server.requests == []


def test_waiting_for_an_engine_that_is_still_loading_can_be_called_off(server, llm):
    server.loading(10_000)
    cancelled = threading.Event()
    threading.Timer(0.3, cancelled.set).start()
    started = time.monotonic()
    with pytest.raises(LlmCancelled):
        llm.describe(time.monotonic() + 30, cancelled)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    "fail",
    [
        pytest.param(lambda server: server.fail(503, 2), id="503"),
        pytest.param(lambda server: server.fail(429, 2), id="429"),
        pytest.param(lambda server: server.fail(502, 2), id="502 of a proxy"),
        pytest.param(lambda server: server.reset_mid_stream(times=2), id="reset in mid-stream"),
        pytest.param(lambda server: server.end_early(times=2), id="ends before it is complete"),
        pytest.param(lambda server: server.fail(500), id="500 once"),
        pytest.param(lambda server: server.error_in_stream(), id="error event under 200"),
        pytest.param(lambda server: server.error_in_stream(flat=True), id="error event in the older shape"),
        pytest.param(lambda server: server.loading(2), id="503 while loading"),
    ],
)
def test_g11_what_may_pass_is_tried_again(server, llm, question, fail):
    llm.describe(time.monotonic() + 5)
    fail(server)
    answer = llm.ask(question())
    assert answer.text == '{"findings":[]}'
    assert answer.attempts >= 2


@pytest.mark.parametrize(
    "fail",
    [
        pytest.param(lambda server: server.fail(500, 5), id="500"),
        pytest.param(lambda server: server.error_in_stream(times=5), id="error event"),
        pytest.param(
            lambda server: server.error_in_stream(times=5, flat=True), id="error event in the older shape"
        ),
    ],
)
def test_an_engine_that_fails_itself_is_asked_only_twice(server, llm, question, fail):
    llm.describe(time.monotonic() + 5)
    fail(server)
    with pytest.raises(LlmUnavailable, match="2 times"):
        llm.ask(question())
    assert len(server.requests) == 2


def test_retry_after_is_honoured(server, llm, question):
    llm.describe(time.monotonic() + 5)
    server.fail(429, retry_after="0.4")
    started = time.monotonic()
    llm.ask(question())
    assert time.monotonic() - started >= 0.4


def test_a_wait_beyond_the_deadline_is_not_waited(server, llm, question):
    llm.describe(time.monotonic() + 5)
    server.fail(429, retry_after="60")
    started = time.monotonic()
    with pytest.raises(LlmUnavailable, match="429"):
        llm.ask(question(seconds=10))
    assert time.monotonic() - started < 1


def test_g11_an_engine_that_is_down_is_told_before_the_deadline(server, question):
    llm = OpenAiLlm(base_url=server.base_url, model="m", backoff_s=0.01)
    server.stop()
    started = time.monotonic()
    try:
        with pytest.raises(LlmUnavailable, match="cannot be reached"):
            llm.ask(question(seconds=0.5))
    finally:
        llm.close()
    assert time.monotonic() - started < 0.7


def test_g11_an_engine_that_comes_up_in_time_answers(server, connect, question):
    llm = connect(server)
    server.loading(5)
    assert llm.ask(question()).finish_reason == "stop"

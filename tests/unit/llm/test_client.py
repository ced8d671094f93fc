"""The client against a server that keeps vLLM's rules: what is sent, what is measured, what is remembered."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from bot.llm.base import LlmRefused, LlmUnavailable, Message, PromptTooLong
from bot.llm.request import normalise_base_url
from tests.llm_server import LlmServer


def test_a_question_is_sent_with_everything_that_the_engine_needs(server, llm, question):
    llm.ask(question("Review this.", priority=10))
    request = server.requests[0]
    assert request.body["model"] == server.model
    assert request.body["temperature"] == 0.0
    assert request.body["top_p"] == 1.0
    assert request.body["max_completion_tokens"] == 200
    assert "max_tokens" not in request.body
    assert request.priority == 10
    assert request.body["stream_options"] == {"include_usage": True}
    assert request.body["response_format"]["json_schema"]["name"] == "review"
    assert request.request_id.startswith("review-7-0-1-")


def test_an_answer_carries_its_text_and_its_cost(server, llm, question):
    server.will_say('{"findings":[]}')
    server.drip(0.02)
    answer = llm.ask(question())
    assert answer.text == '{"findings":[]}'
    assert answer.finish_reason == "stop"
    assert answer.model == server.model
    assert answer.completion_tokens == 8
    assert answer.cached_tokens == 0
    # One event with the role and eight tokens, 20 ms apart: the first token is the second event.
    assert 40 <= answer.ttft_ms < answer.total_ms
    # 50 if nothing is late; the first token may come late, and the others then seem faster.
    assert 20 < answer.tokens_per_s < 70
    assert answer.attempts == 1
    assert answer.constrained


def test_a_prompt_seen_before_is_counted_as_cached(server, llm, question):
    first, second = llm.ask(question("one")), llm.ask(question("two"))
    assert first.cached_tokens == 0
    assert 0 < second.cached_tokens < second.prompt_tokens
    assert second.cached_tokens % 16 == 0


def test_the_answer_is_cut_at_the_token_limit_and_says_so(server, llm, question):
    server.will_say("word " * 300)
    answer = llm.ask(question(max_output_tokens=50))
    assert (answer.finish_reason, answer.completion_tokens) == ("length", 50)


def test_reasoning_and_comment_lines_are_no_part_of_the_answer(server, llm, question):
    server.reasoning = "Let me think."
    server.sse_comments = True
    assert llm.ask(question()).text == '{"findings":[]}'


def test_an_engine_that_reports_no_usage_is_still_understood(server, llm, question):
    server.reports_usage = False
    answer = llm.ask(question())
    assert (answer.text, answer.tokens_per_s) == ('{"findings":[]}', None)


@pytest.mark.parametrize(
    "url", ["http://e:1", "http://e:1/", "http://e:1/v1", "http://e:1/v1/", " http://e:1/v1 "]
)
def test_g8_the_base_url_may_end_in_v1_or_not(url):
    assert normalise_base_url(url) == "http://e:1/v1"


def test_g8_a_path_before_the_version_is_kept():
    assert normalise_base_url("https://e/llm/v1/") == "https://e/llm/v1"
    assert normalise_base_url("https://e/llm") == "https://e/llm/v1"


def test_g5_the_context_is_read_from_the_engine(server, llm):
    info = llm.describe(time.monotonic() + 5)
    assert (info.model, info.context_tokens) == (server.model, 8192)


def test_a_configured_model_that_is_not_served_is_refused_with_the_names_that_are(server, connect):
    with pytest.raises(LlmRefused, match=f"'other': set REDLINE_LLM_MODEL to {server.model}"):
        connect(server, model="other").describe(time.monotonic() + 5)


def test_a_question_for_an_unknown_model_is_refused_once(server, connect, question):
    with pytest.raises(LlmRefused, match="REDLINE_LLM_MODEL"):
        connect(server, model="other").ask(question())
    assert [request.status for request in server.requests] == [404]


def test_a_restarted_engine_with_another_model_is_found_again(server, llm, question):
    llm.ask(question())
    server.model = "the-new-one"
    with pytest.raises(LlmRefused):
        llm.ask(question())
    assert llm.ask(question()).model == "the-new-one"


def test_a_wrong_key_is_refused_although_its_error_is_a_string(connect, question):
    with LlmServer(api_key="right").start() as server:
        with pytest.raises(LlmRefused, match="REDLINE_LLM_API_KEY"):
            connect(server, model=server.model, api_key="wrong").ask(question())
        assert connect(server, model=server.model, api_key="right").ask(question()).finish_reason == "stop"


def test_an_address_without_an_engine_is_refused_with_the_setting_to_change(server, connect):
    with pytest.raises(LlmRefused, match="REDLINE_LLM_BASE_URL"):
        connect(server, base_url=f"{server.address}/elsewhere/v1").describe(time.monotonic() + 5)


def test_an_address_that_serves_web_pages_is_refused_with_the_setting_to_change(connect, question):
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html>Welcome</html>")

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Page) as site:
        threading.Thread(target=site.serve_forever, args=(0.01,), daemon=True).start()
        llm = connect(None, base_url=f"http://127.0.0.1:{site.server_port}")
        with pytest.raises(LlmRefused, match="REDLINE_LLM_BASE_URL"):
            llm.ask(question())
        site.shutdown()


def test_g4_a_prompt_that_is_too_long_is_told_with_its_numbers(server, llm, question):
    with pytest.raises(PromptTooLong) as caught:
        llm.ask(question("word " * 5000))
    assert caught.value.context_tokens == 8192
    assert len(server.requests) == 1


def test_an_answer_budget_beyond_the_context_names_its_setting(server, llm, question):
    with pytest.raises(LlmRefused, match="REDLINE_LLM_ANSWER_TOKENS"):
        llm.ask(question(max_output_tokens=9000))


def test_g1_white_space_without_end_is_stopped_and_asked_again_without_a_grammar(server, llm, question):
    server.whitespace_forever()
    server.will_say([{"line": "1R1", "quote": "x"}], once=False)
    answer = llm.ask(question())
    first, second = server.requests
    assert first.ended.wait(2)
    assert first.closed_early
    assert "response_format" not in second.body
    assert json.loads(answer.text)["findings"][0]["line"] == "1R1"
    assert (answer.constrained, answer.attempts) == (False, 2)


def test_white_space_after_a_complete_answer_does_not_cost_another_request(server, llm, question):
    server.whitespace_forever(after_chunks=99)
    answer = llm.ask(question())
    assert answer.text.strip() == '{"findings":[]}'
    assert (answer.finish_reason, answer.attempts) == ("stop", 1)


@pytest.mark.parametrize(
    ("accepted", "sent"),
    [
        (("json_object", "text"), ["json_schema", "json_object"]),
        (("text",), ["json_schema", "json_object", None]),
    ],
)
def test_g3_a_format_that_the_engine_refuses_is_weakened_and_remembered(connect, question, accepted, sent):
    with LlmServer(accepts_formats=accepted).start() as server:
        llm = connect(server)
        assert not llm.ask(question()).constrained
        llm.ask(question())
        forms = [request.body.get("response_format", {}).get("type") for request in server.requests]
        assert forms == [*sent, sent[-1]]


def test_g3_the_format_can_be_set(server, connect, question):
    connect(server, answer_format="none").ask(question())
    assert "response_format" not in server.requests[0].body


def test_an_engine_that_knows_no_priority_is_asked_without(connect, question):
    with LlmServer(accepts_extras=False).start() as server:
        llm = connect(server)
        llm.ask(question())
        llm.ask(question())
        assert ["priority" in request.body for request in server.requests] == [True, False, False]


def test_any_other_refusal_is_final_and_quotes_the_engine(server, llm, question):
    server.fail(400, message="temperature is out of range")
    with pytest.raises(LlmRefused, match="temperature is out of range"):
        llm.ask(question())
    assert len(server.requests) == 1


def test_requests_in_flight_are_bounded(server, connect, question):
    llm = connect(server, concurrency=2)
    server.drip(0.02, times=6)
    threads = [threading.Thread(target=llm.ask, args=(question(),)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 6
    assert server.in_flight_max == 2


def test_the_most_urgent_question_gets_the_next_place(server, connect, question):
    llm = connect(server, concurrency=1)
    llm.describe(time.monotonic() + 5)
    server.drip(0.03)
    order = [(10, "running"), (10, "patient"), (0, "urgent")]
    threads = []
    for priority, text in order:
        threads.append(threading.Thread(target=llm.ask, args=(question(text, priority=priority),)))
        threads[-1].start()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    assert [request.prompt for request in server.requests] == ["running", "urgent", "patient"]


def test_ids_of_attempts_are_never_used_twice(server, llm, question):
    server.fail(503, 3)
    llm.ask(question())
    llm.ask(question())
    ids = [request.request_id for request in server.requests]
    assert len(set(ids)) == len(ids) == 5


def test_a_closed_client_breaks_off_what_is_in_flight(server, connect, question):
    llm = connect(server)
    server.hang(2)
    caught = []

    def ask():
        try:
            llm.ask(question(seconds=30))
        except LlmUnavailable as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not server.requests:
        time.sleep(0.01)
    time.sleep(0.05)
    llm.close()
    thread.join(5)
    assert caught
    assert server.requests[0].ended.wait(2)
    assert server.requests[0].closed_early


def test_messages_keep_their_roles_and_order(server, llm, question):
    messages = tuple(Message(role=role, content=role) for role in ("system", "user", "assistant", "user"))
    llm.ask(question(messages=messages))
    assert [message["role"] for message in server.requests[0].messages] == [
        "system",
        "user",
        "assistant",
        "user",
    ]

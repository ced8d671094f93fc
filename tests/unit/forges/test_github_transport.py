"""What is sent to GitHub, how often, and where (forges.md B3, cases J3)."""

import itertools
import json
import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from github import Auth

from bot.forges.base import AnswerUnclear, ForgeUnavailable
from bot.forges.github_auth import TokenCredentials
from bot.forges.github_client import Endpoint, GitHubClient
from bot.forges.github_transport import DIFF, GitHubTransport

TOKEN = Auth.Token("tok-secret-123")
SECONDARY = json.dumps(
    {
        "message": "You have exceeded a secondary rate limit and have been temporarily blocked from content "
        "creation. Please retry your request again later."
    }
).encode()
PRIMARY = b'{"message": "API rate limit exceeded for user ID 1."}'


@pytest.fixture
def transport(server):
    made = GitHubTransport(f"{server.url}/api/v3", timeout_s=20.0, backoff_s=0.01, max_wait_s=3.0)
    yield made
    made.close()


def send(transport, verb, **kw):
    return transport.exchange(TOKEN, verb, "/repos/a/b/x", what="the thing", **kw)


def test_a_read_is_repeated_after_server_errors(server, transport, told):
    server.answers = [told(status=502, body=b"<html>"), told(drop=True), told(body=b'{"a": 1}')]
    assert send(transport, "GET").json() == {"a": 1}
    assert [seen.verb for seen in server.seen] == ["GET"] * 3
    assert server.seen[0].path == "/api/v3/repos/a/b/x"
    assert server.seen[0].headers["Authorization"] == "token tok-secret-123"


def test_a_read_gives_up_and_tells_the_last_answer(server, transport, told):
    server.answers = [told(status=503)] * 9
    assert send(transport, "GET").status == 503
    assert len(server.seen) == 3


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408])
def test_a_post_is_sent_once_whatever_the_server_error(server, transport, told, status):
    server.answers = [told(status=status, headers={"Retry-After": "0"})] * 9
    assert send(transport, "POST", body={"body": "x"}).status == status
    assert len(server.seen) == 1


def test_a_post_is_sent_once_if_the_answer_is_late(server, told):
    impatient = GitHubTransport(server.url, timeout_s=0.3, backoff_s=0.01)
    server.answers = [told(delay_s=20.0)]
    with pytest.raises(AnswerUnclear, match="no answer in time"):
        send(impatient, "POST", body={})
    assert len(server.seen) == 1
    impatient.close()


def test_a_post_is_sent_once_if_the_connection_breaks(server, transport, told):
    server.answers = [told(drop=True)]
    with pytest.raises(AnswerUnclear):
        send(transport, "POST", body={})
    assert len(server.seen) == 1


def test_a_post_on_a_connection_that_the_server_closed_meanwhile_goes_through(server, transport, told):
    send(transport, "GET")
    server.answers = [told(headers={"Connection": "close"}), told(status=201)]
    send(transport, "GET")
    time.sleep(0.05)
    assert send(transport, "POST", body={}).status == 201
    assert len(server.seen) == 3


def test_a_write_that_changes_nothing_twice_may_be_repeated(server, transport, told):
    server.answers = [told(status=502), told(drop=True), told()]
    assert send(transport, "PATCH", body={}, repeatable=True).status == 200
    assert len(server.seen) == 3


def test_a_post_that_never_left_is_no_unclear_answer():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        closed = GitHubTransport(f"http://127.0.0.1:{taken.getsockname()[1]}", backoff_s=0.0)
        with pytest.raises(ForgeUnavailable, match="cannot be reached") as caught:
            send(closed, "POST", body={})
    assert not isinstance(caught.value, AnswerUnclear)


@pytest.mark.parametrize(("verb", "status"), [("GET", 429), ("POST", 403)])
def test_a_short_secondary_rate_limit_is_sat_out(server, transport, told, verb, status):
    server.answers = [told(status=status, body=SECONDARY, headers={"Retry-After": "1"}), told(status=201)]
    started = time.monotonic()
    assert send(transport, verb).status == 201
    assert time.monotonic() - started >= 1.0
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    "case",
    [
        (403, SECONDARY, {"Retry-After": "3600"}, 3600.0),
        (429, b"", {"Retry-After": "90"}, 90.0),
        (403, SECONDARY, {}, 60.0),
        (429, b"{}", {}, 60.0),
        (429, b"{}", {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, 60.0),
        (422, b'{"message": "Validation Failed", "errors": ["was submitted too quickly"]}', {}, 60.0),
    ],
)
def test_a_long_rate_limit_is_the_callers_to_wait(server, transport, told, case):
    status, body, headers, wait = case
    server.answers = [told(status=status, body=body, headers=headers)] * 9
    with pytest.raises(ForgeUnavailable) as caught:
        send(transport, "POST")
    assert caught.value.retry_after_s == wait
    assert not isinstance(caught.value, AnswerUnclear)
    assert len(server.seen) == 1


def test_the_primary_limit_is_waited_for_until_its_reset(server, transport, told):
    reset = int(time.time()) + 500
    server.answers = [told(status=403, body=PRIMARY, headers={"X-RateLimit-Reset": str(reset)})]
    with pytest.raises(ForgeUnavailable) as caught:
        send(transport, "GET")
    assert 495 < (caught.value.retry_after_s or 0) < 503


def test_a_rate_limit_without_end_is_not_an_endless_loop(server, transport, told):
    server.answers = [told(status=429, headers={"Retry-After": "0"})] * 50
    with pytest.raises(ForgeUnavailable):
        send(transport, "POST")
    assert len(server.seen) == 4


def test_a_refusal_is_no_rate_limit(server, transport, told):
    server.answers = [told(status=403, body=b'{"message": "Resource not accessible by integration"}')]
    assert send(transport, "POST").status == 403
    assert len(server.seen) == 1


@pytest.mark.parametrize("case", [*itertools.product(["GET", "POST", "PATCH"], [301, 302, 307, 308])])
def test_no_redirect_is_followed(server, elsewhere, transport, told, case):
    verb, status = case
    for location in (f"{elsewhere.url}/api/v3/repos/a/b/x", f"{server.url}/api/v3/repositories/1/x"):
        server.answers = [told(status=status, headers={"Location": location})]
        assert send(transport, verb).status == status
    assert len(server.seen) == 2


def test_no_page_is_looked_for_elsewhere(server, elsewhere, transport, told):
    first = json.dumps([{"id": number} for number in range(2)]).encode()
    server.answers = [
        told(body=first, headers={"Link": f'<{elsewhere.url}/repos/a/b/x?page=2>; rel="next"'}),
        told(body=b'[{"id": 9}]', headers={"Link": f'<{elsewhere.url}/repos/a/b/x?page=1>; rel="prev"'}),
    ]
    client = GitHubClient(transport, TokenCredentials(transport, "t"))
    listed = client.read_list(Endpoint(repository="a/b", path="/x", what="x", permission="p"))
    assert [item.get_id("id") for item in listed] == ["0", "1", "9"]
    assert [seen.path for seen in server.seen] == [
        "/api/v3/repos/a/b/x?page=1&per_page=100",
        "/api/v3/repos/a/b/x?page=2&per_page=100",
    ]


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/vnd.github.diff", "text/x; charset=utf-8"]
)
def test_the_bytes_of_an_answer_survive(server, transport, told, content_type):
    body = "+Zoë 😀 \x85\u2028".encode() + b"\xff\xfe latin-1: \xe9\r\n" + bytes(range(256))
    server.answers = [told(body=body, headers={"Content-Type": content_type})]
    assert send(transport, "GET", accept=DIFF).content == body
    assert server.seen[0].headers["Accept"] == DIFF


def test_threads_do_not_get_each_others_answers(server, transport, told):
    server.route = lambda seen: told(body=json.dumps({"path": seen.path}).encode())

    def ask(number):
        path = f"/repos/a/b/{number}"
        return transport.exchange(TOKEN, "GET", path, what="x").json(), {"path": f"/api/v3{path}"}

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(80)))
    assert all(answer == expected for answer, expected in answers)


def test_each_thread_has_a_connection_of_its_own(transport):
    # PyGithub's keeps the request in attributes between two calls; the race is too short to lose on purpose.
    both_run = threading.Barrier(2)

    def connection(_):
        both_run.wait(5)
        return transport._connection(), transport._connection()

    with ThreadPoolExecutor(2) as pool:
        (one, one_again), (other, _) = pool.map(connection, range(2))
    assert one is one_again
    assert one is not other


def test_writes_are_spaced_out_over_all_threads_and_reads_are_not(server):
    slow = GitHubTransport(server.url, seconds_between_writes=600.0)  # only the second write would wait
    send(slow, "POST")
    send(slow, "GET")
    slow.close()
    paced = GitHubTransport(server.url, seconds_between_writes=0.2)
    started = time.monotonic()
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: send(paced, "POST"), range(3)))
    assert time.monotonic() - started >= 0.4
    paced.close()


def test_the_token_stays_out_of_the_debug_log(server, transport, caplog):
    caplog.set_level(logging.DEBUG)
    send(transport, "GET")
    assert caplog.records
    assert "tok-secret-123" not in caplog.text

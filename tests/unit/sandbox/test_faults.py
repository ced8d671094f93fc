"""Faults on purpose, and the record of what was asked."""

import time

import httpx
import pytest

from deploy.sandbox.github import GitHubSandbox, RecordedRequest
from tests.unit.sandbox.conftest import REPO, Client

COMMENTS = f"/repos/{REPO}/issues/1/comments"


def bodies(sandbox: GitHubSandbox) -> list[str]:
    return [one.body for one in sandbox.pull(REPO, 1).conversation]


def test_a_fault_hits_as_often_as_asked_and_stores_nothing(sandbox: GitHubSandbox, api: Client) -> None:
    sandbox.fail("POST", r"/issues/\d+/comments$", times=2)
    statuses = [api("POST", COMMENTS, {"body": str(number)}).status_code for number in range(3)]
    assert (statuses, bodies(sandbox)) == ([502, 502, 201], ["2"])


def test_a_fault_can_come_after_the_request_took_effect(sandbox: GitHubSandbox, api: Client) -> None:
    sandbox.fail("POST", "/comments$", status=504, after_storing=True)
    assert api("POST", COMMENTS, {"body": "stored"}).status_code == 504
    assert bodies(sandbox) == ["stored"]


@pytest.mark.parametrize("after_storing", [False, True])
def test_a_connection_can_be_dropped(sandbox: GitHubSandbox, api: Client, after_storing: bool) -> None:
    sandbox.fail("POST", "/comments$", drop_connection=True, after_storing=after_storing)
    with pytest.raises(httpx.RemoteProtocolError):
        api("POST", COMMENTS, {"body": "gone?"})
    assert bodies(sandbox) == ["gone?"] * after_storing
    assert sandbox.requests[-1].status == 0


def test_a_right_answer_can_be_late(sandbox: GitHubSandbox, api: Client) -> None:
    sandbox.fail("GET", "/comments$", status=None, delay_s=0.3)
    started = time.monotonic()
    assert api("GET", COMMENTS).status_code == 200
    assert time.monotonic() - started >= 0.3


def test_stopping_ends_a_delay(sandbox: GitHubSandbox, api: Client) -> None:
    sandbox.fail("GET", "/comments$", status=None, delay_s=50)
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(sandbox.api_url + COMMENTS, headers={"Authorization": "token bot-token"}, timeout=0.3)
    started = time.monotonic()
    sandbox.stop()
    assert time.monotonic() - started < 5


def test_bodies_and_headers_of_faults_can_be_chosen(sandbox: GitHubSandbox, api: Client) -> None:
    sandbox.fail("GET", "/comments$", status=429, body={"message": "slow"}, headers={"Retry-After": "3"})
    answer = api("GET", COMMENTS)
    assert (answer.status_code, answer.json(), answer.headers["Retry-After"]) == (
        429,
        {"message": "slow"},
        "3",
    )


def test_records_and_shows_every_request(sandbox: GitHubSandbox, api: Client) -> None:
    seen: list[RecordedRequest] = []
    sandbox.observers.append(seen.append)
    api("POST", COMMENTS, {"body": "é"})
    api("GET", f"/repos/{REPO}/contents/a%20b/%C3%A9.py?ref=main&x=")
    assert [(one.method, one.path, one.query, one.status) for one in seen] == [
        ("POST", COMMENTS, [], 201),
        ("GET", f"/repos/{REPO}/contents/a%20b/%C3%A9.py", [("ref", "main"), ("x", "")], 404),
    ]
    assert seen[0].json() == {"body": "é"}
    assert seen[0].headers["Authorization"] == "token bot-token"
    assert sandbox.requests == seen

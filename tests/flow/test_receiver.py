"""The receiver's answers to whatever is sent to it."""

import hashlib
import hmac
import json
import socket
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
import pytest

from bot.web.app import create_app
from deploy.sandbox.httpd import BackgroundServer
from tests.world import SECRET, World

BODY = json.dumps({"zen": "Keep it logically awesome.", "hook_id": 1}).encode()

pytestmark = pytest.mark.forge("github")


def sign(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def send(
    world: World, body: bytes = BODY, *, event: str = "ping", guid: str = "g-1", **headers: str
) -> httpx.Response:
    return httpx.post(
        f"{world.web.url}/webhooks/github",
        content=body,
        headers={
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": guid,
            "Content-Type": "application/json",
            "X-Hub-Signature-256": sign(body),
            **headers,
        },
    )


def test_ping_is_answered_and_recorded(world: World) -> None:
    answer = send(world)
    assert answer.status_code == 200
    assert answer.json()["outcome"] == "ignored"
    assert world.deliveries()[0].event == "ping"


@pytest.mark.parametrize("signature", ["", "sha256=", "sha256=" + "0" * 64, "sha1=abc", "sha256=ü", "é" * 71])
def test_a_wrong_signature_is_refused_before_anything_is_parsed(world: World, signature: str) -> None:
    """Case M2."""
    answer = httpx.post(
        f"{world.web.url}/webhooks/github",
        content=b"{not json",
        headers=[(b"X-GitHub-Event", b"ping"), (b"X-Hub-Signature-256", signature.encode("latin-1"))],
    )
    assert answer.status_code == 401
    assert world.deliveries() == []


def test_a_missing_signature_is_refused(world: World) -> None:
    answer = httpx.post(f"{world.web.url}/webhooks/github", content=BODY, headers={"X-GitHub-Event": "ping"})
    assert answer.status_code == 401


def test_either_of_two_secrets_is_accepted_while_one_is_replaced(world: World) -> None:
    settings = world.settings.model_copy(
        update={"github_webhook_secret": type(world.settings.admin_token)("old, new")}
    )
    services = world.services(settings, world.database)
    client = create_app(services).test_client()
    for secret in ("old", "new"):
        answer = client.post(
            "/webhooks/github",
            data=BODY,
            headers={
                "X-GitHub-Event": "ping",
                "X-Hub-Signature-256": sign(BODY, secret),
                "X-GitHub-Delivery": secret,
            },
        )
        assert answer.status_code == 200, secret


def test_an_unconfigured_forge_does_not_exist(world: World) -> None:
    settings = world.settings.model_copy(
        update={"github_webhook_secret": type(world.settings.admin_token)("")}
    )
    services = world.services(settings, world.database)
    answer = create_app(services).test_client().post("/webhooks/github", data=BODY)
    assert answer.status_code == 404
    assert "REDLINE_GITHUB_WEBHOOK_SECRET" in answer.get_json()["error"]


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"null", b"\xff\xfe", b'{"action": 5}', b'{"action": "opened"}']
)
def test_a_signed_body_that_makes_no_sense_is_a_clear_400(world: World, body: bytes) -> None:
    answer = send(world, body, event="pull_request")
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_a_form_body_is_read_too(world: World) -> None:
    body = urlencode({"payload": BODY.decode()}).encode()
    answer = send(world, body, **{"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status_code == 200


def _raw(world: World, head: str, body: bytes = b"") -> str:
    address = urlsplit(world.web.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(f"POST /webhooks/github HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n".encode() + body)
        return connection.recv(1000).decode(errors="replace")


def test_a_chunked_body_is_refused(world: World) -> None:
    chunked = b"4\r\nabcd\r\n0\r\n\r\n"
    assert " 411 " in _raw(world, "Transfer-Encoding: chunked", chunked).splitlines()[0]


def test_a_body_over_25_mb_is_refused_unread(world: World) -> None:
    assert " 413 " in _raw(world, f"Content-Length: {25 * 1024 * 1024 + 1}").splitlines()[0]


def test_an_event_that_cannot_be_stored_is_not_accepted(world: World) -> None:
    class Away:
        """A database that does not answer, as its own class says it."""

        def __getattr__(self, name: str) -> Any:
            from bot.db.engine import DatabaseUnavailable

            raise DatabaseUnavailable("the database does not answer")

    services = world.services(world.settings, Away())  # type: ignore[arg-type] # a server that is away
    server = BackgroundServer(create_app(services).wsgi_app, host="127.0.0.1", port=0)
    server.start()
    try:
        answer = httpx.post(
            f"{server.url}/webhooks/github",
            content=BODY,
            headers={"X-GitHub-Event": "ping", "X-Hub-Signature-256": sign(BODY), "X-GitHub-Delivery": "g"},
        )
    finally:
        server.stop()
    assert answer.status_code == 503


def test_two_deliveries_of_the_same_id_at_once_are_one_review(world: World) -> None:
    """Case B1, as it happens: both arrive before either is stored."""
    import threading

    world.open_pull_request()
    world.run()
    delivery = next(each for each in world.github.deliveries if each.event == "pull_request")
    body = json.loads(delivery.body)
    body["pull_request"]["head"]["sha"] = "f" * 40
    body["number"] = body["pull_request"]["number"] = 99
    raw = json.dumps(body).encode()
    answers: list[str] = []

    def go() -> None:
        answers.append(send(world, raw, event="pull_request", guid="same").json()["outcome"])

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["duplicate"] * 7 + ["queued"]
    assert len(world.reviews(99)) == 1
    world.run()  # the pull request does not exist, so its review ends at once

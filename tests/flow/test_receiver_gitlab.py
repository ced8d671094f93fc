"""The receiver's answers to what GitLab, or somebody in its name, sends (forges.md C1)."""

import json
import time
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from bot.db.tables import ReviewState
from bot.web.app import create_app
from deploy.sandbox.gitlab.webhooks import sign
from tests.hosts import SIGNING_TOKEN
from tests.world import World

pytestmark = pytest.mark.forge("gitlab")

PUSH = json.dumps({"object_kind": "push", "project": {"id": 1, "path_with_namespace": "a/b"}}).encode()


def signed(body: bytes, key: str = "key-1", *, at: float = 0.0) -> dict[str, str]:
    return sign(SIGNING_TOKEN, key, str(int(time.time() + at)), body) | {"Idempotency-Key": key}


def send(world: World, body: bytes = PUSH, *, event: str = "Push Hook", **headers: str) -> httpx.Response:
    sent = headers or signed(body)
    return httpx.post(
        f"{world.web.url}/webhooks/gitlab",
        content=body,
        headers={"X-Gitlab-Event": event, "Content-Type": "application/json"} | sent,
    )


def test_an_event_that_asks_nothing_of_us_is_a_success_and_recorded(world: World) -> None:
    answer = send(world)
    assert answer.status_code == 200
    assert answer.json()["outcome"] == "ignored"
    assert world.deliveries()[0].event == "Push Hook"


def test_a_wrong_secret_is_refused_before_anything_is_parsed(world: World) -> None:
    """Case M2."""
    for headers in (
        {"X-Gitlab-Token": "guess"},
        {"X-Gitlab-Token": SIGNING_TOKEN},
        {"Idempotency-Key": "x"},
        signed(b"another body"),
        signed(b"{not json", at=-3600),
    ):
        assert send(world, b"{not json", **headers).status_code == 401
    assert world.deliveries() == []


def test_the_secret_token_of_an_older_gitlab_is_taken_too(world: World) -> None:
    settings = world.settings.model_copy(
        update={"gitlab_webhook_secret": SecretStr(f"plain, {SIGNING_TOKEN}")}
    )
    client = create_app(world.services(settings, world.database)).test_client()
    for headers in ({"X-Gitlab-Token": "plain"}, signed(PUSH)):
        answer = client.post("/webhooks/gitlab", data=PUSH, headers={"X-Gitlab-Event": "Push Hook"} | headers)
        assert answer.status_code == 200, headers


def test_an_unconfigured_gitlab_does_not_exist(world: World) -> None:
    settings = world.settings.model_copy(update={"gitlab_webhook_secret": SecretStr("")})
    answer = create_app(world.services(settings, world.database)).test_client().post("/webhooks/gitlab")
    assert answer.status_code == 404
    assert "REDLINE_GITLAB_WEBHOOK_SECRET" in answer.get_json()["error"]
    github = create_app(world.services(world.settings, world.database)).test_client().post("/webhooks/github")
    assert github.status_code == 404, "and neither does GitHub here"


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff\xfe", b'{"object_kind": "merge_request"}'])
def test_what_makes_no_sense_is_said_and_never_turns_the_webhook_off(world: World, body: bytes) -> None:
    """GitLab does that after four failures in a row."""
    headers = {"X-Gitlab-Token": "plain"}
    settings = world.settings.model_copy(update={"gitlab_webhook_secret": SecretStr("plain")})
    client = create_app(world.services(settings, world.database)).test_client()
    answer = client.post("/webhooks/gitlab", data=body, headers={"X-Gitlab-Event": "x"} | headers)
    assert answer.status_code == 200
    assert answer.get_json()["error"]


def test_the_same_key_twice_is_one_review(world: World) -> None:
    """Case B1: GitLab sends the same key when somebody presses "Resend"."""
    world.open_pull_request()
    world.run()
    first = world.sandbox.deliveries[0]
    world.sandbox.redeliver(first.guid)
    world.sandbox.wait_for_webhooks()
    assert len(world.reviews()) == 1
    assert [each.guid for each in world.deliveries()].count(first.guid) == 1


def test_before_17_4_the_same_body_is_the_same_event(world: World) -> None:
    world.sandbox.options.version = "17.3.0"
    pull = world.open_pull_request()
    world.sandbox.redeliver(world.sandbox.deliveries[0].guid)
    world.run()
    assert len(world.reviews()) == 1
    assert pull.review.state is ReviewState.DONE


def test_h2_the_answer_comes_once_the_event_is_stored_and_nothing_slow_is_waited_for(world: World) -> None:
    """GitLab gives up after 10 s, and turns off a webhook that fails."""
    answers: list[tuple[float, Any]] = []

    def open_and_look() -> None:
        started = time.monotonic()
        world.open_pull_request()
        answers.append((time.monotonic() - started, world.reviews()))

    world.llm.loading(10_000)  # the engine is not even there
    open_and_look()
    ((seconds, (review,)),) = answers
    assert review.state is ReviewState.QUEUED
    assert seconds < 5
    assert world.sandbox.webhook_health.failures == 0
    world.llm.loading(-10_000)
    world.run()


def test_the_button_test_is_a_success(world: World) -> None:
    world.open_pull_request()
    world.run()
    world.sandbox.ping()
    world.sandbox.wait_for_webhooks()
    assert len(world.reviews()) == 1
    assert world.deliveries()[0].outcome == "ignored"
    assert world.sandbox.webhook_health.failures == 0

"""GitHub's webhooks become events (forges.md B1)."""

import json
from copy import deepcopy
from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events import (
    ChangeReason,
    CommentKind,
    CommentRef,
    EventIgnored,
    PullRequestChanged,
    PullRequestRef,
    PullRequestWithdrawn,
    ReviewRequested,
)
from bot.forges.base import BadPayload
from bot.forges.github_webhook import read_github_webhook

NOW = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
HEAD = "1f2e3d4c5b6a79880f1e2d3c4b5a69788f9e0d1c"
REF = PullRequestRef(forge="github", repository="acme/shop", number=7)
ADA = {"login": "ada", "type": "User"}


def read(
    event, payload, *, guid="72d3162e-cc78-11e3-81ab-4c9367dc0958", content_type="application/json", **kw
):
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    headers = {"X-GitHub-Event": event, "X-GitHub-Delivery": guid}
    return read_github_webhook(headers, content_type, body, NOW, "req-1", **kw)


def pull_request(action, *, user=ADA, changes=None, **fields):
    pull = {
        "number": 7,
        "state": "open",
        "draft": False,
        "user": user,
        "head": {"sha": HEAD, "ref": "feature", "repo": {"full_name": "acme/shop"}},
        "base": {"ref": "main"},
        "additions": 3,
        "deletions": 1,
    }
    payload = {
        "action": action,
        "number": 7,
        "pull_request": pull | fields,
        "repository": {"full_name": "acme/shop"},
        "sender": {"login": "ada", "type": "User"},
    }
    return deepcopy(payload | ({"changes": changes} if changes is not None else {}))


def comment(body, *, on="issue", user=ADA, app=None, **issue):
    shared = {
        "action": "created",
        "comment": {"id": 99, "body": body, "user": user, "performed_via_github_app": app},
        "repository": {"full_name": "acme/shop"},
        "sender": user,
    }
    if on == "line":
        return deepcopy(shared | {"pull_request": {"number": 7, "head": {"sha": HEAD}}})
    return deepcopy(shared | {"issue": {"number": 7, "pull_request": {"url": "x"}} | issue})


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("opened", ChangeReason.OPENED),
        ("reopened", ChangeReason.REOPENED),
        ("ready_for_review", ChangeReason.READY),
        ("synchronize", ChangeReason.PUSHED),
    ],
)
def test_new_code_is_a_change(action, reason):
    _, event = read("pull_request", pull_request(action))
    assert event == PullRequestChanged(
        ref=REF, reason=reason, head_sha=HEAD, base_ref="main", author="ada", additions=3, deletions=1
    )


def test_an_edit_is_a_change_only_if_the_target_moved():
    retargeted = pull_request("edited", changes={"base": {"ref": {"from": "develop"}}})
    _, event = read("pull_request", retargeted)
    assert isinstance(event, PullRequestChanged)
    assert event.reason is ChangeReason.RETARGETED
    for changes in ({"title": {"from": "x"}}, {}, None):
        assert isinstance(read("pull_request", pull_request("edited", changes=changes))[1], EventIgnored)


@pytest.mark.parametrize("action", ["closed", "converted_to_draft"])
def test_a_withdrawn_pull_request_cancels_even_a_bots_or_a_draft(action):
    payload = pull_request(action, draft=True, user={"login": "dependabot[bot]", "type": "Bot"})
    assert read("pull_request", payload)[1] == PullRequestWithdrawn(ref=REF, reason=action)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"draft": True}, "draft"),
        ({"state": "closed"}, "closed"),
        ({"user": {"login": "dependabot[bot]", "type": "Bot"}}, "dependabot"),
        ({"user": {"login": "renovate[bot]", "type": "User"}}, "renovate"),
    ],
)
@pytest.mark.parametrize("action", ["opened", "synchronize"])
def test_drafts_bots_and_closed_ones_are_ignored_with_the_reason(action, fields, word):
    _, event = read("pull_request", pull_request(action, **fields))
    assert isinstance(event, EventIgnored)
    assert word in event.reason


def test_a_fork_whose_repository_was_deleted_is_reviewed_through_the_target():
    payload = pull_request("opened", head={"sha": HEAD, "ref": "patch-1", "repo": None})
    _, event = read("pull_request", payload)
    assert isinstance(event, PullRequestChanged)
    assert event.ref == REF


def test_old_servers_know_no_drafts_and_count_no_lines():
    payload = pull_request("opened")
    for key in ("draft", "additions", "deletions"):
        del payload["pull_request"][key]
    _, event = read("pull_request", payload)
    assert isinstance(event, PullRequestChanged)
    assert (event.additions, event.deletions) == (None, None)


def test_a_command_in_the_conversation():
    _, event = read("issue_comment", comment("/review full\r\n", draft=True))
    assert event == ReviewRequested(
        ref=REF,
        comment=CommentRef(kind=CommentKind.CONVERSATION, id="99"),
        requested_by="ada",
        full=True,
        head_sha="",
    )


def test_a_command_under_a_line():
    _, event = read(
        "pull_request_review_comment", comment("@redline review", on="line"), bot_names=["redline"]
    )
    assert event == ReviewRequested(
        ref=REF,
        comment=CommentRef(kind=CommentKind.INLINE, id="99"),
        requested_by="ada",
        full=False,
        head_sha=HEAD,
    )


@pytest.mark.parametrize(
    "payload",
    [
        comment("nice work"),
        comment("/review https://evil.example"),
        comment("/review", user={"login": "redline[bot]", "type": "Bot"}),
        comment("/review", user={"login": "other-ci", "type": "Bot"}),
        comment("/review", app={"id": 5, "slug": "redline"}),
        comment("/review\n<!-- redline:run=1 -->"),  # B9: our own, whoever's account posted it
        comment("/review", user=None),
        comment("/review", pull_request=None),
        comment("/review") | {"action": "edited"},
        comment("/review") | {"action": "deleted"},
    ],
)
def test_a_comment_that_asks_nothing_of_us_is_ignored(payload):
    assert isinstance(read("issue_comment", payload)[1], EventIgnored)


@pytest.mark.parametrize("event", ["ping", "push", "star", "pull_request_review", "installation"])
def test_other_events_are_ignored_with_a_sentence(event):
    delivery, ignored = read(event, {"zen": "Keep it simple.", "hook_id": 1})
    assert isinstance(ignored, EventIgnored)
    assert ignored.reason.endswith(".")
    assert (delivery.event, delivery.action, delivery.repository, delivery.sender) == (event, "", "", "")


def test_the_delivery_keeps_what_finds_and_replays_it():
    payload = pull_request("opened")
    delivery, event = read("pull_request", payload)
    assert delivery.guid == "72d3162e-cc78-11e3-81ab-4c9367dc0958"
    assert (delivery.forge, delivery.event, delivery.action) == ("github", "pull_request", "opened")
    assert (delivery.repository, delivery.sender) == ("acme/shop", "ada")
    assert (delivery.request_id, delivery.received_at) == ("req-1", NOW)
    assert read(delivery.event, delivery.payload)[1] == event


def test_a_form_carries_the_same_event_and_a_replayable_payload():
    payload = pull_request("opened", title="Zoë & 100 % = +1 😀")
    form = urlencode({"payload": json.dumps(payload, ensure_ascii=False)}).encode()
    delivery, event = read(
        "pull_request", form, content_type="application/x-www-form-urlencoded; charset=utf-8"
    )
    assert isinstance(event, PullRequestChanged)
    assert json.loads(delivery.payload) == payload


@pytest.mark.parametrize("guid", ["", "x" * 101, "a b", "a\0"])
def test_without_a_usable_guid_the_same_body_has_the_same_key(guid):
    payload = pull_request("opened")
    first, second = (read("pull_request", payload, guid=guid)[0].guid for _ in range(2))
    assert first == second
    assert first.startswith("sha256-")
    assert read("pull_request", pull_request("closed"), guid=guid)[0].guid != first


def set_field(payload, path, value):
    *parents, last = path.split(".")
    target = payload
    for name in parents:
        target = target[name]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return payload


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("pull_request", ...),
        ("pull_request", []),
        ("pull_request.number", "7"),
        ("pull_request.number", True),
        ("pull_request.number", -7),
        ("pull_request.number", 2**31),
        ("pull_request.draft", "no"),
        ("pull_request.head.sha", ...),
        ("pull_request.head.sha", "main"),
        ("pull_request.head.sha", HEAD + "/../x"),
        ("pull_request.base.ref", None),
        ("pull_request.user.login", 5),
        ("pull_request.additions", 1.5),
        ("repository.full_name", ...),
        ("repository.full_name", "acme"),
        ("repository.full_name", "../shop"),
        ("repository.full_name", "acme/.."),
        ("repository.full_name", "acme/shop?x"),
        ("repository", "acme/shop"),
        ("action", 5),
        ("sender.login", "a\0b"),
        ("pull_request.base.ref", "\ud800"),
    ],
)
def test_a_wrong_field_is_named(path, value):
    with pytest.raises(BadPayload, match=path.replace(".", r"\.")) as caught:
        read("pull_request", set_field(pull_request("opened"), path, value))
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("path", ["comment", "comment.body", "comment.id", "issue", "issue.number"])
def test_a_missing_field_of_a_comment_is_named(path):
    with pytest.raises(BadPayload, match=path.replace(".", r"\.")):
        read("issue_comment", set_field(comment("/review"), path, ...))


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}"],
)
def test_a_body_that_is_no_json_object_is_refused(body):
    with pytest.raises(BadPayload):
        read("push", body)


@pytest.mark.parametrize(
    "body", [b"", b"x=1", b"payload", b"payload=%7B", b"payload=%FF", b"payload={}&payload={}"]
)
def test_a_form_without_one_readable_payload_is_refused(body):
    with pytest.raises(BadPayload):
        read("push", body, content_type="application/x-www-form-urlencoded")


def test_a_request_without_the_event_header_is_refused():
    with pytest.raises(BadPayload, match="X-GitHub-Event"):
        read_github_webhook({}, "application/json", b"{}", NOW, "r")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.just("/review")
    | st.just(HEAD),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["action", "pull_request", "issue", "comment", "repository", "user", "head", "id", "sha"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(
    event=st.sampled_from(["pull_request", "issue_comment", "pull_request_review_comment", "ping", "push"]),
    action=st.sampled_from(["opened", "created", "closed", "edited", "synchronize"]) | JSON,
    extra=st.dictionaries(
        st.sampled_from(["pull_request", "issue", "comment", "repository", "sender", "changes", "number"]),
        JSON,
    ),
)
def test_no_json_raises_anything_but_bad_payload(event, action, extra):
    try:
        delivery, _ = read(event, {"action": action} | extra)
    except BadPayload:
        return
    assert delivery.event == event


PARTS = ["action", "number", "pull_request", "repository", "sender", "issue", "comment", "changes"]


@given(
    kind=st.sampled_from(["change", "issue", "line"]),
    path=st.lists(
        st.sampled_from([*PARTS, "user", "head", "base", "sha", "ref", "login", "id", "body"]), max_size=3
    ),
    value=JSON,
)
def test_one_wrong_value_anywhere_is_no_surprise(kind, path, value):
    payload = pull_request("opened") if kind == "change" else comment("/review", on=kind)
    target = payload
    for name in path[:-1]:
        target = target.get(name) if isinstance(target, dict) else None
    if path and isinstance(target, dict):
        target[path[-1]] = value
    event = {"change": "pull_request", "issue": "issue_comment", "line": "pull_request_review_comment"}[kind]
    try:
        read(event, payload)
    except BadPayload as error:
        assert str(error).endswith(".")  # noqa: PT017 - the error is one of two right outcomes


@given(
    st.binary(max_size=200), st.sampled_from(["application/json", "application/x-www-form-urlencoded", None])
)
def test_no_body_raises_anything_but_bad_payload(body, content_type):
    with pytest.raises(BadPayload):
        read("push", body + b"\x01", content_type=content_type)

"""GitLab's webhooks become events (forges.md C1 to C4)."""

import hashlib
import json
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path

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
from bot.forges.gitlab_webhook import read_gitlab_webhook

NOW = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
HEAD = "1f2e3d4c5b6a79880f1e2d3c4b5a69788f9e0d1c"
OLD = "a" * 40
REF = PullRequestRef(forge="gitlab", repository="acme/web/shop", number=7)
ADA = {"id": 5, "name": "Ada", "username": "ada"}
TO_READY = {"draft": {"previous": True, "current": False}}
TO_DRAFT = {"draft": {"previous": False, "current": True}}
TO_NEXT = {"target_branch": {"previous": "main", "current": "next"}}
PAYLOADS = Path(__file__).resolve().parents[3] / "../shared/forge/payloads/gitlab"
FILES = sorted(PAYLOADS.glob("hook.*.json"))


def read(payload, *, event="Merge Request Hook", key="11111111-2222-3333-4444-555555555555", **kw):
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    headers = {"X-Gitlab-Event": event} | ({"Idempotency-Key": key} if key else {})
    return read_gitlab_webhook(headers, body, NOW, "req-1", **kw)


def merge_request(action, *, user=ADA, changes=None, top=None, **attributes):
    known = {
        "id": 990,
        "iid": 7,
        "state": "opened",
        "draft": False,
        "author_id": 5,
        "source_project_id": 12,
        "target_project_id": 11,
        "target_branch": "main",
        "last_commit": {"id": HEAD},
    }
    action_of = {} if action is None else {"action": action}
    return deepcopy(
        {
            "object_kind": "merge_request",
            "user": user,
            "project": {"id": 11, "path_with_namespace": "acme/web/shop"},
            "object_attributes": known | action_of | attributes,
            "changes": changes or {},
        }
        | (top or {})
    )


def note(body, *, user=ADA, merge_request=True, **attributes):
    known = {"id": 99, "note": body, "noteable_type": "MergeRequest", "system": False, "action": "create"}
    about = {"merge_request": {"iid": 7, "last_commit": {"id": HEAD}}} if merge_request else {}
    return deepcopy(
        {
            "object_kind": "note",
            "user": user,
            "project": {"id": 11, "path_with_namespace": "acme/web/shop"},
            "object_attributes": {
                name: value for name, value in (known | attributes).items() if value != "absent"
            },
        }
        | about
    )


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (merge_request("open"), ChangeReason.OPENED),
        (merge_request("reopen"), ChangeReason.REOPENED),
        (merge_request("update", oldrev=OLD), ChangeReason.PUSHED),
        (merge_request("update", changes=TO_READY), ChangeReason.READY),
        (merge_request("update", changes=TO_NEXT), ChangeReason.RETARGETED),
        (merge_request("update", changes=TO_NEXT, oldrev=OLD), ChangeReason.RETARGETED),
        (merge_request("update", oldrev=OLD, system=False), ChangeReason.PUSHED),
    ],
)
def test_new_code_is_a_change(payload, reason):
    assert read(payload)[1] == PullRequestChanged(
        ref=REF,
        reason=reason,
        head_sha=HEAD,
        base_ref="main",
        author="ada",
        additions=None,
        deletions=None,
    )


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (merge_request("close", state="closed"), "close"),
        (merge_request("merge", state="merged"), "merge"),
        (merge_request("update", changes=TO_DRAFT, draft=True), "converted_to_draft"),
    ],
)
def test_what_wants_no_review_any_more_is_withdrawn(payload, reason):
    assert read(payload)[1] == PullRequestWithdrawn(ref=REF, reason=reason)


@pytest.mark.parametrize(
    ("payload", "word"),
    [
        (merge_request("update"), "changed"),  # a thread was resolved
        (merge_request("update", changes={"labels": {"previous": [], "current": [{"id": 1}]}}), "changed"),
        (merge_request("update", changes={"title": {"previous": "a", "current": "b"}}), "changed"),
        (merge_request("approved"), "approved"),
        (merge_request("unapproval"), "unapproval"),
        (merge_request(None), "no action"),  # the button "Test"
        (merge_request("update", oldrev=OLD, system=True, system_action="approvals_reset_on_push"), "itself"),
        (merge_request("update", oldrev=OLD, top={"system": True}), "itself"),
        (merge_request("open", draft=True), "draft"),
        (merge_request("open", state="closed"), "closed"),
        (merge_request("update", oldrev=OLD, state="merged"), "closed"),
        (merge_request("open", last_commit=None), "no commits"),
        (merge_request("open", user={"id": 5, "username": "project_11_bot"}), "bot"),
        (merge_request("open", user={"id": 5, "username": "group_3_bot_0a1b"}), "bot"),
        (merge_request("open", user={"id": 5, "username": "service_account_group_1_f00"}), "bot"),
    ],
)
def test_what_calls_for_no_review_is_ignored_with_a_sentence(payload, word):
    _, event = read(payload)
    assert isinstance(event, EventIgnored), event
    assert word in event.reason
    assert event.reason.endswith(".")


def test_d2_an_old_version_calls_a_draft_work_in_progress():
    payload = merge_request("open", draft=None, work_in_progress=True)
    assert "draft" in read(payload)[1].reason
    del payload["object_attributes"]["draft"]
    assert "draft" in read(payload)[1].reason
    payload["object_attributes"]["work_in_progress"] = False
    assert isinstance(read(payload)[1], PullRequestChanged)


def test_the_author_is_known_only_from_what_the_author_did():
    pushed = merge_request("update", oldrev=OLD, user={"id": 6, "username": "grace"})
    assert read(pushed)[1].author == ""


@pytest.mark.parametrize(
    "repository", ["acme/shop", "a/b/c/d/e", "acme.io/web-2/shop_x", "g/" * 20 + "p", "..acme/shop"]
)
def test_groups_nest(repository):
    """Case I1: the whole path is the project's name."""
    payload = merge_request("open")
    payload["project"]["path_with_namespace"] = repository
    assert read(payload)[1].ref.repository == repository


@pytest.mark.parametrize(
    "repository", ["shop", "acme/../shop", "acme//shop", "acme/shop?x", "/acme/shop", "a/é"]
)
def test_a_path_that_is_none_is_a_bad_payload(repository):
    payload = merge_request("open")
    payload["project"]["path_with_namespace"] = repository
    with pytest.raises(BadPayload, match="path_with_namespace"):
        read(payload)


def test_the_project_that_it_goes_to_counts_even_if_the_fork_is_gone():
    payload = merge_request("open", source=None, source_project_id=None)
    assert read(payload)[1].ref == REF


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({}, CommentKind.CONVERSATION),
        ({"type": "DiffNote"}, CommentKind.INLINE),
        ({"type": None}, "conversation"),
    ],
)
@pytest.mark.parametrize(("body", "full"), [("/review", False), ("Please\n/review full\n", True)])
def test_a_note_asks_for_a_review(attributes, kind, body, full):
    assert read(note(body, **attributes), event="Note Hook")[1] == ReviewRequested(
        ref=REF,
        comment=CommentRef(kind=CommentKind(kind), id="99"),
        requested_by="ada",
        full=full,
        head_sha=HEAD,
    )


def test_before_16_11_a_note_has_no_action():
    assert isinstance(read(note("/review", action="absent"), event="Note Hook")[1], ReviewRequested)


def test_the_bot_may_be_called_by_its_name():
    event = read(note("@redline review"), event="Note Hook", bot_names=("redline",))[1]
    assert isinstance(event, ReviewRequested)


@pytest.mark.parametrize(
    "payload",
    [
        note("nice work"),
        note("/review https://evil.example"),
        note("/reviewer @ada"),
        note("/review", action="update"),
        note("/review", system=True),
        note("/review", noteable_type="Issue", merge_request=False),
        note("/review", noteable_type="Commit", merge_request=False),
        note("/review", user={"id": 8, "username": "project_11_bot_9f3e"}),
        note("/review\n<!-- redline:finding=1 run=1 -->"),  # B9: our own, whoever's account posted it
    ],
)
def test_a_note_that_asks_nothing_of_us_is_ignored(payload):
    assert isinstance(read(payload, event="Note Hook")[1], EventIgnored)


@pytest.mark.parametrize("kind", ["push", "pipeline", "build", "wiki_page", "", "feature_flag"])
def test_other_events_are_ignored_with_a_sentence(kind):
    delivery, event = read({"object_kind": kind}, event="Other Hook")
    assert isinstance(event, EventIgnored)
    assert event.reason.endswith(".")
    assert (delivery.event, delivery.action, delivery.repository, delivery.sender) == (
        "Other Hook",
        "",
        "",
        "",
    )


def test_a_system_hook_tells_the_same():
    assert isinstance(read(merge_request("open"), event="System Hook")[1], PullRequestChanged)


def test_the_delivery_keeps_what_finds_and_replays_it():
    payload = merge_request("open")
    delivery, event = read(payload)
    assert delivery.guid == "11111111-2222-3333-4444-555555555555"
    assert (delivery.forge, delivery.event, delivery.action) == ("gitlab", "Merge Request Hook", "open")
    assert (delivery.repository, delivery.sender) == ("acme/web/shop", "ada")
    assert (delivery.request_id, delivery.received_at) == ("req-1", NOW)
    assert read(delivery.payload)[1] == event


@pytest.mark.parametrize("key", ["", "x" * 101, "a b", "é"])
def test_without_a_key_the_body_and_the_project_make_one(key):
    """Before 17.4."""
    body = json.dumps(merge_request("open")).encode()
    expected = f"sha256-{hashlib.sha256(body).hexdigest()}-11"
    assert read(body, key=key)[0].guid == expected
    assert read(body + b" ", key=key)[0].guid != expected


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"\xff", b'{"object_kind": 5}', b'{"object_kind": "merge_request"}',
     b'{"object_kind": "note", "object_attributes": {"noteable_type": "MergeRequest"}}', b'{"project": 1}',
     b"[" * 100_000],
)  # fmt: skip
def test_what_makes_no_sense_is_a_bad_payload(body):
    with pytest.raises(BadPayload):
        read(body)


def test_a_request_without_the_event_header_is_none_of_gitlab():
    with pytest.raises(BadPayload, match="X-Gitlab-Event"):
        read_gitlab_webhook({}, b"{}", NOW, "r")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=8), inner, max_size=2),
    max_leaves=4,
)
PARTS = ["object_kind", "object_attributes", "project", "user", "changes", "merge_request"]
FIELDS = [
    "iid",
    "id",
    "action",
    "draft",
    "last_commit",
    "target_branch",
    "note",
    "username",
    "current",
    "type",
]


@given(
    about=st.sampled_from(["merge_request", "note"]),
    path=st.lists(st.sampled_from([*PARTS, *FIELDS]), max_size=3),
    value=JSON,
)
def test_one_wrong_value_anywhere_is_no_surprise(about, path, value):
    payload = merge_request("update", oldrev=OLD, changes=TO_READY) if about != "note" else note("/review")
    target = payload
    for name in path[:-1]:
        target = target.get(name) if isinstance(target, dict) else None
    if path and isinstance(target, dict):
        target[path[-1]] = value
    try:
        delivery, _ = read(payload)
    except BadPayload:
        return
    assert delivery.guid


@given(st.binary(max_size=200))
def test_no_body_raises_anything_but_bad_payload(body):
    with pytest.raises(BadPayload):
        read(body + b"\x01")


@pytest.mark.skipif(not FILES, reason="../shared/forge with GitLab's payloads is not here")
def test_every_recorded_payload_becomes_the_expected_event():
    outcomes = {}
    for path in FILES:
        try:
            outcomes[path.name] = type(read(path.read_bytes())[1])
        except BadPayload:
            outcomes[path.name] = BadPayload
    assert outcomes == {
        "hook.group_merge_request.json": BadPayload,  # it was recorded without the number
        "hook.job.json": EventIgnored,
        "hook.merge_request.json": PullRequestChanged,
        "hook.note_commit.json": EventIgnored,
        "hook.note_issue.json": EventIgnored,
        "hook.note_merge_request.json": EventIgnored,
        "hook.pipeline.json": EventIgnored,
        "hook.push.json": EventIgnored,
        "hook.service_merge_request.json": PullRequestChanged,
    }

"""What the sandbox answers and sends must look like what GitLab really answers and sends."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from deploy.sandbox.gitlab import GitLabSandbox
from deploy.sandbox.gitlab.webhooks import sign
from deploy.sandbox.recording import RecordedRequest
from tests.contract.gitlab_spec import MISSING, SPECS, GitLabSpec, status_problems
from tests.contract.webhook_receiver import WebhookReceiver

pytestmark = pytest.mark.skipif(not GitLabSpec.is_available(), reason=MISSING)

PAYLOADS = SPECS.parent / "payloads/gitlab"
PROJECT = "/projects/acme%2Fsub%2Fshop"
ONE = f"{PROJECT}/merge_requests/1"
OLD = "".join(f"line {number}\n" for number in range(1, 40))
# The real changes are some of the many that there can be; a note's merge request is shaped by an older GitLab.
OPTIONAL = ("changes.", "merge_request.position", "merge_request.assignee")


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitLabSandbox]:
    """A sandbox where every described endpoint was used once and every kind of webhook was sent."""
    with WebhookReceiver() as receiver:
        sandbox = GitLabSandbox(
            tmp_path_factory.mktemp("forge"), webhook_url=receiver.url, webhook_secret="s3cret"
        )
        sandbox.start()
        try:
            _take_tour(sandbox)
            sandbox.wait_for_webhooks()
            yield sandbox
        finally:
            sandbox.stop()


def test_the_tour_itself_sends_only_described_requests(tour: GitLabSandbox) -> None:
    spec = GitLabSpec.load()
    for request in tour.requests:
        spec.check(request)
    assert spec.violations == []


def test_the_tour_visits_every_described_operation(tour: GitLabSandbox) -> None:
    description = GitLabSpec.load().description
    described = {
        (method, operation.path)
        for method, operations in description.operations.items()
        for operation in operations
    }
    visited = {(one.method, description.find(one.method, one.path)[0].path) for one in tour.requests}
    assert described - visited == set()


def test_nothing_on_the_tour_failed_and_every_status_is_described(tour: GitLabSandbox) -> None:
    failed = [
        (one.method, one.path, one.status, one.response_body) for one in tour.requests if one.status >= 400
    ]
    assert failed == []
    assert [problem for one in tour.requests for problem in status_problems(one)] == []


@pytest.mark.parametrize(
    ("method", "path", "real"),
    [
        ("GET", ONE, "get_merge_request"),
        ("GET", f"{ONE}/diffs", "list_merge_request_diff"),
        ("GET", f"{ONE}/draft_notes", "list_draft_notes"),
        ("POST", f"{ONE}/draft_notes", "create_draft_note"),
    ],
)
def test_answers_have_every_key_that_real_ones_have(
    tour: GitLabSandbox, method: str, path: str, real: str
) -> None:
    shown = next(one for one in tour.requests if (one.method, one.path) == (method, path))
    expected = set(_keys(json.loads((PAYLOADS / f"api/{real}.json").read_text())))
    # A real answer's people, milestones and pipelines are objects; ours have none.
    nested = ("assignee.", "assignees[]", "reviewers[]", "milestone.", "pipeline.", "head_pipeline.")
    missing = expected - set(_keys(json.loads(shown.response_body)))
    assert {key for key in missing if not key.startswith(nested)} == set()


def test_a_file_of_a_merge_request_has_values_of_the_right_kind(tour: GitLabSandbox) -> None:
    [file] = _answer(tour, "GET", f"{ONE}/diffs")
    assert {name: type(value).__name__ for name, value in file.items()} == {
        "diff": "str", "new_path": "str", "old_path": "str", "a_mode": "str", "b_mode": "str", "new_file": "bool",
        "renamed_file": "bool", "deleted_file": "bool", "generated_file": "bool", "collapsed": "bool",
        "too_large": "bool",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("event", "files"),
    [
        ("Merge Request Hook", ["hook.merge_request", "hook.service_merge_request"]),
        ("Note Hook", ["hook.note_merge_request"]),
    ],
)
def test_webhooks_have_every_key_that_real_ones_have(
    tour: GitLabSandbox, event: str, files: list[str]
) -> None:
    sent = {key for one in tour.deliveries if one.event == event for key in _keys(one.payload)}
    for file in files:
        real = set(_keys(json.loads((PAYLOADS / f"{file}.json").read_text())))
        missing = {key for key in real - sent if not key.startswith(OPTIONAL)}
        assert missing == set(), file


def test_webhooks_have_values_of_the_kind_that_real_ones_have(tour: GitLabSandbox) -> None:
    for event, file in (
        ("Merge Request Hook", "hook.merge_request"),
        ("Note Hook", "hook.note_merge_request"),
    ):
        real = dict(_kinds(json.loads((PAYLOADS / f"{file}.json").read_text())))
        for delivery in tour.deliveries:
            if delivery.event != event:
                continue
            ours = dict(_kinds(delivery.payload))
            different = {
                key: (ours[key], real[key])
                for key in ours.keys() & real.keys()
                if "NoneType" not in (ours[key], real[key]) and ours[key] != real[key]
            }
            # The documentation's note has a made-up position; its payloads write the ids of people as they come.
            assert {key for key in different if not key.startswith("merge_request.position")} == set()


def test_every_action_was_sent(tour: GitLabSandbox) -> None:
    assert {one.action for one in tour.deliveries if one.event == "Merge Request Hook"} == {
        "open", "update", "close", "reopen", "merge", "approved", "unapproved", None,
    }  # fmt: skip


def test_signs_as_the_vector_says() -> None:
    vector = json.loads((SPECS.parent / "data/webhook_signature_vectors.json").read_text())["gitlab"]
    made = sign(
        vector["signing_token"], vector["webhook-id"], vector["webhook-timestamp"], vector["body"].encode()
    )
    assert made["webhook-signature"] == vector["webhook-signature"]


def _answer(tour: GitLabSandbox, method: str, path: str) -> Any:
    found: RecordedRequest = next(one for one in tour.requests if (one.method, one.path) == (method, path))
    return json.loads(found.response_body)


def _keys(value: Any, prefix: str = "") -> Iterator[str]:
    for key, _ in _kinds(value, prefix):
        yield key


def _kinds(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield f"{prefix}{name}", type(inner).__name__
            yield from _kinds(inner, f"{prefix}{name}.")
    elif isinstance(value, list):
        for inner in value:
            yield from _kinds(inner, f"{prefix.removesuffix('.')}[].")


def _take_tour(sandbox: GitLabSandbox) -> None:
    sandbox.add_user("redline-bot", "write", token="bot-token")
    sandbox.create_repository("acme/sub/shop", {"src/a.py": OLD})
    head = sandbox.commit("acme/sub/shop", "feature", {"src/a.py": OLD.replace("line 5\n", "five\n")})
    sandbox.open_pull_request("acme/sub/shop", "feature", title="Change a", body="Why not?")
    with httpx.Client(base_url=sandbox.api_url, headers={"PRIVATE-TOKEN": "bot-token"}) as client:

        def call(method: str, path: str, body: object = None) -> Any:
            answer = client.request(method, sandbox.api_url + path, json=body)
            return answer.json() if "json" in answer.headers.get("Content-Type", "") else answer.content

        _read(call, head)
        _talk(call)
        _draft(call)
        call("POST", f"{PROJECT}/statuses/{head}", {"state": "pending", "name": "redline"})
        call("GET", f"{PROJECT}/repository/commits/{head}/statuses")
    sandbox.comment("acme/sub/shop", 1, "/review\n/approve\n/assign @ada\n/reviewer @grace")
    sandbox.commit("acme/sub/shop", "feature", {"b.py": "b\n"})
    sandbox.ping()
    sandbox.close("acme/sub/shop", 1)
    sandbox.reopen("acme/sub/shop", 1)
    sandbox.merge("acme/sub/shop", 1)


def _read(call: Any, head: str) -> None:
    user = call("GET", "/user")
    for path in ("/version", "/metadata", PROJECT, f"{PROJECT}/members/all/{user['id']}", ONE):
        call("GET", path)
    for path in ("changes?access_raw_diffs=True", "diffs?per_page=100&page=1", "raw_diffs"):
        call("GET", f"{ONE}/{path}")
    version = call("GET", f"{ONE}/versions")[0]
    call("GET", f"{ONE}/versions/{version['id']}")
    call("GET", f"{PROJECT}/repository/files/src%2Fa.py?ref={head}")
    call("GET", f"{PROJECT}/repository/files/src%2Fa.py/raw?ref={head}")
    call("GET", f"{PROJECT}/repository/compare?from=main&to={head}&straight=true")


def _talk(call: Any) -> None:
    thread = call("POST", f"{ONE}/discussions", {"body": "Five?", "position": _position(call)})
    call("GET", f"{ONE}/discussions")
    one = f"{ONE}/discussions/{thread['id']}"
    call("GET", one)
    call("PUT", one, {"resolved": True})
    reply = call("POST", f"{one}/notes", {"body": "Yes."})
    call("GET", f"{one}/notes/{reply['id']}")
    call("PUT", f"{one}/notes/{reply['id']}", {"body": "Yes!"})
    call("DELETE", f"{one}/notes/{reply['id']}")
    note = call("POST", f"{ONE}/notes", {"body": "Summary."})
    call("POST", f"{ONE}/notes", {"body": "/label ~seen"})
    call("GET", f"{ONE}/notes")
    call("GET", f"{ONE}/notes/{note['id']}")
    call("PUT", f"{ONE}/notes/{note['id']}", {"body": "Summary, again."})
    call("POST", f"{ONE}/notes/{note['id']}/award_emoji", {"name": "eyes"})
    call("GET", f"{ONE}/notes/{note['id']}/award_emoji")
    call("DELETE", f"{ONE}/notes/{note['id']}")


def _draft(call: Any) -> None:
    drafts = f"{ONE}/draft_notes"
    first, second, _ = (
        call("POST", drafts, {"note": f"Draft {number}.", "position": _position(call)}) for number in range(3)
    )
    call("GET", drafts)
    call("GET", f"{drafts}/{first['id']}")
    call("PUT", f"{drafts}/{first['id']}", {"note": "Better.", "position": _position(call)})
    call("DELETE", f"{drafts}/{first['id']}")
    call("PUT", f"{drafts}/{second['id']}/publish")
    call("POST", f"{drafts}/bulk_publish", {"note": "All.", "reviewer_state": "reviewed"})


def _position(call: Any) -> dict[str, Any]:
    """Make the position of a range: the line above the added one, and that."""
    files = call("GET", f"{ONE}/diffs")
    refs = call("GET", ONE)["diff_refs"]
    code = "371f574bcfd6f16d2b8277d407f9db09f24ab634"  # of src/a.py
    return {
        **refs,
        "position_type": "text",
        "old_path": files[0]["old_path"],
        "new_path": files[0]["new_path"],
        "new_line": 5,
        "line_range": {
            "start": {"line_code": f"{code}_4_4", "type": "old", "old_line": 4, "new_line": 4},
            "end": {"line_code": f"{code}_6_5", "type": "new", "old_line": None, "new_line": 5},
        },
    }

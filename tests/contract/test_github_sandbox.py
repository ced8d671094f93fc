"""What the sandbox answers and sends must fit GitHub's own description of it."""

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from deploy.sandbox.git import FileContent, SpecialFile
from deploy.sandbox.github import GitHubSandbox
from deploy.sandbox.recording import RecordedRequest
from tests.contract.github_spec import MISSING, SPECS, GitHubSpec, response_problems, webhook_problems
from tests.contract.webhook_receiver import WebhookReceiver

pytestmark = pytest.mark.skipif(not GitHubSpec.is_available(), reason=MISSING)

REPO = "/repos/acme/shop"
APP_PERMISSIONS = {
    "pull_requests": "write", "issues": "write", "checks": "write", "statuses": "write", "contents": "write",
    "metadata": "read",
}  # fmt: skip


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitHubSandbox]:
    """A sandbox where every endpoint was used once and every kind of webhook was sent."""
    with WebhookReceiver() as receiver:
        sandbox = GitHubSandbox(
            tmp_path_factory.mktemp("forge"),
            webhook_url=receiver.url,
            webhook_secret="s3cret",
            webhook_events=("*",),
        )
        sandbox.start()
        try:
            _take_tour(sandbox)
            sandbox.wait_for_webhooks()
            yield sandbox
        finally:
            sandbox.stop()


def test_every_answer_fits_the_official_schema(tour: GitHubSandbox) -> None:
    problems = {
        f"{request.method} {request.path} {request.status}": response_problems(request)
        for request in tour.requests
        if request.status < 400 and not request.headers["Accept"].endswith(("diff", "raw"))
    }
    left = {
        where: [one for one in what if not _is_real_all_the_same(one)] for where, what in problems.items()
    }
    assert {where: what for where, what in left.items() if what} == {}
    assert len(problems) > 50


def test_the_tour_itself_sends_only_described_requests(tour: GitHubSandbox) -> None:
    spec = GitHubSpec.load()
    for request in tour.requests:
        spec.check(request)
    assert spec.violations == []


def test_nothing_on_the_tour_failed(tour: GitHubSandbox) -> None:
    failed = [
        (one.method, one.path, one.status, one.response_body) for one in tour.requests if one.status >= 400
    ]
    assert failed == []


def test_every_webhook_fits_the_official_schema(tour: GitHubSandbox) -> None:
    problems = {
        f"{one.event} {one.action} {one.id}": webhook_problems(one.event, one.payload)
        for one in tour.deliveries
    }
    assert {where: what for where, what in problems.items() if what} == {}
    assert {(one.event, one.action) for one in tour.deliveries} >= {
        ("ping", None),
        ("push", None),
        ("pull_request", "opened"),
        ("pull_request", "synchronize"),
        ("pull_request", "edited"),
        ("pull_request", "closed"),
        ("pull_request", "reopened"),
        ("pull_request", "ready_for_review"),
        ("pull_request", "converted_to_draft"),
        ("issue_comment", "created"),
        ("issue_comment", "edited"),
        ("issue_comment", "deleted"),
        ("pull_request_review", "submitted"),
        ("pull_request_review", "dismissed"),
        ("pull_request_review_comment", "created"),
        ("pull_request_review_comment", "edited"),
        ("pull_request_review_comment", "deleted"),
        ("check_run", "created"),
        ("check_run", "completed"),
    }


@pytest.mark.parametrize(
    ("event", "action"),
    [
        ("pull_request", "opened"),
        ("pull_request", "synchronize"),
        ("pull_request", "closed"),
        ("issue_comment", "created"),
        ("pull_request_review", "submitted"),
        ("pull_request_review_comment", "created"),
    ],
)
def test_webhooks_have_every_key_that_real_ones_have(tour: GitHubSandbox, event: str, action: str) -> None:
    ours = [one.payload for one in tour.deliveries if (one.event, one.action) == (event, action)]
    files = sorted((SPECS.parent / "payloads/github").glob(f"{event}.{action}.*.json"))
    assert files
    real = set.intersection(*(set(_keys(json.loads(file.read_text()))) for file in files))
    # A real payload's `assignees[]`, `labels[]` and the like are lists of objects; ours are empty.
    in_lists = {key for key in real if "[]" in key}
    missing = real - in_lists - {key for payload in ours for key in _keys(payload)}
    assert {key for key in missing if not key.startswith(("installation", "enterprise"))} == set()


def test_the_schemas_reject_an_answer_that_lacks_a_key(tour: GitHubSandbox) -> None:
    request = next(one for one in tour.requests if one.path == f"{REPO}/pulls/1")
    broken = json.loads(request.response_body)
    del broken["head"]
    changed = RecordedRequest(
        method=request.method,
        path=request.path,
        query=[],
        headers={},
        body=b"",
        status=200,
        response_body=json.dumps(broken).encode(),
    )
    assert "body: 'head' is a required property" in response_problems(changed)


def _is_real_all_the_same(problem: str) -> bool:
    """Pardon what GitHub really sends although its description does not allow it."""
    return bool(
        # A fork that was deleted; the line of an outdated comment or one on a whole file.
        re.match(r"(\d+/)?(head/repo|line|original_line): None ", problem)
        # The description joins user and enterprise by allOf where it means anyOf.
        or re.match(r"0/account: '(name|slug|created_at|updated_at)' is a required property", problem)
    )


def _keys(value: Any, prefix: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield f"{prefix}{name}"
            yield from _keys(inner, f"{prefix}{name}.")
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, f"{prefix}[].")


def _take_tour(sandbox: GitHubSandbox) -> None:
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    installation = sandbox.add_app(77, "redline", public.decode(), APP_PERMISSIONS)
    sandbox.add_user("root", "admin", token="admin-token")
    sandbox.ping()
    sandbox.create_repository(
        "acme/shop", {"a.py": "one\ntwo\nthree\n", "src/old.py": "x = 1\ny = 2\nz = 3\n"}
    )
    files: dict[str, FileContent] = {
        "a.py": "one\n2\nthree\nfour\n",
        "logo.png": b"\0\1",
        "link": SpecialFile(mode="120000", content="a.py"),
        "module": SpecialFile(mode="160000", content="1" * 40),
    }
    sandbox.commit("acme/shop", "feature", files, renames={"src/old.py": "src/new.py"})
    sandbox.commit("acme/shop", "other", {"b.py": "b\n"})
    number = sandbox.open_pull_request("acme/shop", "feature", title="Change a", body="Why not?")
    draft = sandbox.open_pull_request("acme/shop", "other", title="Draft", draft=True, fork_owner="mallory")
    sandbox.mark_ready("acme/shop", draft)
    sandbox.convert_to_draft("acme/shop", draft)
    sandbox.delete_fork("acme/shop", draft)
    head = sandbox.pull("acme/shop", number).head_sha

    claims = {"iss": "77", "iat": int(time.time()) - 60, "exp": int(time.time()) + 300}
    with httpx.Client(base_url=sandbox.api_url, headers={"Accept": "application/vnd.github+json"}) as client:

        def call(method: str, path: str, body: object = None, **headers: str) -> Any:
            answer = client.request(method, sandbox.api_url + path, json=body, headers=headers)
            return answer.json() if "json" in answer.headers.get("Content-Type", "") else answer.content

        app = {"Authorization": f"Bearer {jwt.encode(claims, key, algorithm='RS256')}"}
        for path in (
            "/app",
            "/app/installations",
            f"/app/installations/{installation}",
            f"{REPO}/installation",
        ):
            call("GET", path, **app)
        call("GET", "/app/hook/config", **app)
        token = call("POST", f"/app/installations/{installation}/access_tokens", {}, **app)["token"]
        admin = {"Authorization": "token admin-token"}
        for path in ("/user", REPO, f"{REPO}/collaborators/ada/permission", "/rate_limit"):
            call("GET", path, **admin)
        hook = {"config": {"url": f"{sandbox.webhook_url}/2", "content_type": "form"}, "events": ["push"]}
        made = call("POST", f"{REPO}/hooks", hook, **admin)
        call("GET", f"{REPO}/hooks", **admin)
        sandbox.wait_for_webhooks()
        call("GET", f"{REPO}/hooks/{made['id']}/deliveries", **admin)
        deliveries = call("GET", "/app/hook/deliveries", **app)
        call("GET", f"/app/hook/deliveries/{deliveries[0]['id']}", **app)
        call("POST", f"/app/hook/deliveries/{deliveries[0]['id']}/attempts", **app)

        client.headers["Authorization"] = f"token {token}"
        call("GET", "/installation/repositories")
        _read_code(call, head)
        _review(call, number, head)
        _talk(call, number)
        _check(call, head)
        call("PATCH", f"{REPO}/pulls/{number}", {"title": "Change a and more"})
        call("GET", f"{REPO}/pulls?state=all&per_page=1")
    sandbox.commit("acme/shop", "feature", {"a.py": "zero\none\n2\nthree\nfour\n"})
    sandbox.commit("acme/shop", "release", {"r.py": "r\n"}, start="main")
    sandbox.retarget("acme/shop", number, "release")
    sandbox.close("acme/shop", number)
    sandbox.reopen("acme/shop", number)
    sandbox.merge("acme/shop", number)


def _read_code(call: Any, head: str) -> None:
    for path in ("a.py", "src", "src/new.py", "link", "module", "logo.png"):
        call("GET", f"{REPO}/contents/{path}?ref={head}")
    call("GET", f"{REPO}/contents/a.py?ref=refs/pull/1/head", Accept="application/vnd.github.raw")
    tree = call("GET", f"{REPO}/git/trees/{head}?recursive=1")
    call("GET", f"{REPO}/git/blobs/{next(one['sha'] for one in tree['tree'] if one['path'] == 'a.py')}")
    call("GET", f"{REPO}/commits/{head}")
    call("GET", f"{REPO}/compare/main...feature")
    call("GET", f"{REPO}/pulls/1")
    call("GET", f"{REPO}/pulls/2")
    call("GET", f"{REPO}/pulls/1", Accept="application/vnd.github.diff")
    call("GET", f"{REPO}/pulls/1/files?per_page=2")
    call("GET", f"{REPO}/pulls/1/commits")
    call("GET", f"{REPO}/issues/1")


def _review(call: Any, number: int, head: str) -> None:
    pull = f"{REPO}/pulls/{number}"
    comments = [
        {"path": "a.py", "line": 2, "side": "LEFT", "body": "Gone."},
        {"path": "a.py", "start_line": 2, "start_side": "RIGHT", "line": 4, "side": "RIGHT", "body": "New."},
        {"path": "a.py", "position": 1, "body": "By position."},
    ]
    review = call(
        "POST",
        f"{pull}/reviews",
        {"commit_id": head, "event": "REQUEST_CHANGES", "body": "No.", "comments": comments},
    )
    call("GET", f"{pull}/reviews")
    call("GET", f"{pull}/reviews/{review['id']}")
    call("GET", f"{pull}/reviews/{review['id']}/comments")
    call("PUT", f"{pull}/reviews/{review['id']}", {"body": "No, sorry."})
    call("PUT", f"{pull}/reviews/{review['id']}/dismissals", {"message": "Fine now."})
    pending = call("POST", f"{pull}/reviews", {"comments": comments[:1]})
    call("DELETE", f"{pull}/reviews/{pending['id']}")
    pending = call("POST", f"{pull}/reviews", {"comments": comments[:1]})
    call("POST", f"{pull}/reviews/{pending['id']}/events", {"event": "COMMENT", "body": "Look."})
    alone = call("POST", f"{pull}/comments", comments[1] | {"commit_id": head})
    call(
        "POST",
        f"{pull}/comments",
        {"path": "logo.png", "subject_type": "file", "body": "Big?", "commit_id": head},
    )
    call("POST", f"{pull}/comments/{alone['id']}/replies", {"body": "Yes."})
    call("GET", f"{pull}/comments?per_page=100")
    comment = f"{REPO}/pulls/comments/{alone['id']}"
    call("GET", comment)
    call("PATCH", comment, {"body": "Newer."})
    call("POST", f"{comment}/reactions", {"content": "eyes"})
    call("POST", f"{comment}/reactions", {"content": "eyes"})
    call("GET", f"{comment}/reactions")
    call("DELETE", comment)


def _talk(call: Any, number: int) -> None:
    issue = f"{REPO}/issues/{number}"
    made = call("POST", f"{issue}/comments", {"body": "Hello."})
    comment = f"{REPO}/issues/comments/{made['id']}"
    call("GET", f"{issue}/comments")
    call("GET", comment)
    call("PATCH", comment, {"body": "Hello again."})
    call("POST", f"{comment}/reactions", {"content": "rocket"})
    call("GET", f"{comment}/reactions")
    call("POST", f"{issue}/reactions", {"content": "+1"})
    call("POST", f"{issue}/labels", {"labels": ["big"]})
    call("GET", f"{issue}/labels")
    call("DELETE", comment)


def _check(call: Any, head: str) -> None:
    run = call("POST", f"{REPO}/check-runs", {"name": "Redline", "head_sha": head, "status": "in_progress"})
    annotation = {
        "path": "a.py",
        "start_line": 1,
        "end_line": 1,
        "annotation_level": "notice",
        "message": "m",
    }
    output = {"title": "Done", "summary": "Nothing.", "annotations": [annotation]}
    url = f"{REPO}/check-runs/{run['id']}"
    call("PATCH", url, {"status": "completed", "conclusion": "neutral", "output": output})
    call("GET", url)
    call("GET", f"{url}/annotations")
    call("GET", f"{REPO}/commits/{head}/check-runs")
    call("POST", f"{REPO}/statuses/{head}", {"state": "success", "context": "redline", "description": "ok"})
    call("GET", f"{REPO}/commits/{head}/status")

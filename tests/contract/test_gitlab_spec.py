"""The judge itself: known-bad requests must fail, good ones pass."""

import json

import pytest

from deploy.sandbox.recording import RecordedRequest
from tests.contract.gitlab_spec import MISSING, GitLabSpec, status_problems

pytestmark = pytest.mark.skipif(not GitLabSpec.is_available(), reason=MISSING)

PROJECT = "/projects/acme%2Fsub%2Fshop"
ONE = f"{PROJECT}/merge_requests/1"
SHA = "0" * 40
CODE = f"{SHA}_3_3"
POSITION = {
    "base_sha": SHA, "start_sha": SHA, "head_sha": SHA, "position_type": "text", "old_path": "a.py",
    "new_path": "a.py", "new_line": 3,
}  # fmt: skip


def a_request(
    method: str, path: str, body: object = None, query: tuple[tuple[str, str], ...] = (), status: int = 200
) -> RecordedRequest:
    encoded = b"" if body is None else json.dumps(body).encode()
    return RecordedRequest(
        method=method,
        path=path,
        query=list(query),
        headers={},
        body=encoded,
        status=status,
        response_body=b"",
    )


def a_discussion(**position: object) -> RecordedRequest:
    given = {name: value for name, value in (POSITION | position).items() if value is not ...}
    return a_request("POST", f"{ONE}/discussions", {"body": "hm", "position": given})


BAD = {
    "discussion without body": a_request("POST", f"{ONE}/discussions", {"position": POSITION}),
    "empty body": a_request("POST", f"{ONE}/discussions", {"body": ""}),
    "position without base_sha": a_discussion(base_sha=...),
    "position without type": a_discussion(position_type=...),
    "short SHA": a_discussion(head_sha="0" * 8),
    "unknown position type": a_discussion(position_type="line"),
    "line as text": a_discussion(new_line="3"),
    "line 0": a_discussion(new_line=0),
    "key of GitHub": a_discussion(line=3),
    "range without line code": a_discussion(line_range={"start": {"type": "new"}, "end": {"type": "new"}}),
    "range with half a line code": a_discussion(line_range={"start": {"type": "new", "line_code": SHA}}),
    "range of an unknown type": a_discussion(line_range={"start": {"type": "match", "line_code": CODE}}),
    "note without body": a_request("POST", f"{ONE}/notes", {"note": "hm"}),
    "draft note with a body": a_request("POST", f"{ONE}/draft_notes", {"body": "hm"}),
    "unknown reviewer state": a_request(
        "POST", f"{ONE}/draft_notes/bulk_publish", query=(("reviewer_state", "approved"),)
    ),
    "status of GitHub": a_request("POST", f"{PROJECT}/statuses/{SHA}", {"state": "failure"}),
    "status without state": a_request("POST", f"{PROJECT}/statuses/{SHA}", {"name": "redline"}),
    "emoji without name": a_request("POST", f"{ONE}/notes/7/award_emoji", {"content": "eyes"}),
    "thread neither resolved nor not": a_request("PUT", f"{ONE}/discussions/{SHA}", {}),
    "note with body and resolved": a_request(
        "PUT", f"{ONE}/discussions/{SHA}/notes/7", {"body": "hm", "resolved": True}
    ),
    "page size as text": a_request("GET", f"{ONE}/diffs", query=(("per_page", "abc"),)),
    "page size above 100": a_request("GET", f"{ONE}/diffs", query=(("per_page", "500"),)),
    "number of a merge request as text": a_request("GET", f"{PROJECT}/merge_requests/one"),
    "slashes of a path not encoded": a_request("GET", "/projects/acme/sub/shop"),
    "unknown path": a_request("GET", f"{ONE}/reviews"),
    "unknown query parameter": a_request("GET", f"{ONE}/diffs", query=(("perpage", "100"),)),
    "comparison without an end": a_request("GET", f"{PROJECT}/repository/compare", query=(("from", SHA),)),
    "boolean as a word": a_request("GET", f"{ONE}/changes", query=(("access_raw_diffs", "yes"),)),
    "body that is not JSON": RecordedRequest(
        method="POST",
        path=f"{ONE}/notes",
        query=[],
        headers={},
        body=b"body=hm",
        status=200,
        response_body=b"",
    ),
}
GOOD = {
    "discussion": a_discussion(),
    "unchanged line": a_discussion(old_line=3),
    "nulls": a_discussion(old_line=None, line_range=None),
    "range": a_discussion(
        line_range={
            "start": {"line_code": CODE, "type": "new", "new_line": 2, "old_line": None},
            "end": {"line_code": CODE, "type": "new", "new_line": 3},
        }
    ),
    "whole file": a_discussion(position_type="file", new_line=...),
    "thread without position": a_request("POST", f"{ONE}/discussions", {"body": "hm"}),
    "note": a_request("POST", f"{ONE}/notes", {"body": "hm"}),
    "draft note": a_request("POST", f"{ONE}/draft_notes", {"note": "hm", "position": POSITION}),
    "publish": a_request("POST", f"{ONE}/draft_notes/bulk_publish"),
    "publish with a summary": a_request("POST", f"{ONE}/draft_notes/bulk_publish", {"note": "Done."}),
    "raw diffs": a_request("GET", f"{ONE}/changes", query=(("access_raw_diffs", "True"),)),
    "file": a_request("GET", f"{PROJECT}/repository/files/src%2Fa.py/raw", query=(("ref", SHA),)),
    "page": a_request(
        "GET", "/projects/7/merge_requests/1/diffs", query=(("per_page", "100"), ("page", "2"))
    ),
    "status": a_request("POST", f"{PROJECT}/statuses/{SHA}", {"state": "pending", "name": "redline"}),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_request_is_a_violation(name: str) -> None:
    spec = GitLabSpec.load()
    spec.check(BAD[name])
    assert spec.violations


@pytest.mark.parametrize("name", GOOD)
def test_a_good_request_is_none(name: str) -> None:
    spec = GitLabSpec.load()
    spec.check(GOOD[name])
    assert spec.violations == []


def test_knows_which_statuses_there_are() -> None:
    assert status_problems(a_request("POST", f"{ONE}/notes", status=201)) == []
    assert status_problems(a_request("POST", f"{ONE}/notes", status=202)) == []
    assert status_problems(a_request("POST", f"{ONE}/discussions", status=202))
    assert status_problems(a_request("GET", ONE, status=302))

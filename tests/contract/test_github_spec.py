"""The judge itself: known-bad requests must fail, good ones pass, and openapi-core must agree."""

import json
import time
from typing import Any

import pytest

from deploy.sandbox.recording import RecordedRequest
from tests.contract.github_spec import MISSING, SPECS, STRICT_SPEC, GitHubSpec

pytestmark = pytest.mark.skipif(not GitHubSpec.is_available(), reason=MISSING)

REVIEWS = "/repos/acme/shop/pulls/1/reviews"
COMMENTS = "/repos/acme/shop/pulls/1/comments"
SHA = "0" * 40
COMMENT = {"path": "a.py", "line": 3, "side": "RIGHT", "body": "hm"}


def a_request(
    method: str, path: str, body: object = None, query: tuple[tuple[str, str], ...] = ()
) -> RecordedRequest:
    encoded = b"" if body is None else json.dumps(body).encode()
    return RecordedRequest(
        method=method, path=path, query=list(query), headers={}, body=encoded, status=200, response_body=b""
    )


def a_review(**comment: object) -> dict[str, object]:
    given = {name: value for name, value in (COMMENT | comment).items() if value is not ...}
    return {"event": "COMMENT", "body": "Seen.", "commit_id": SHA, "comments": [given]}


BAD = {
    "comment without body": a_request("POST", REVIEWS, a_review(body=...)),
    "comment without path": a_request("POST", REVIEWS, a_review(path=...)),
    "line as text": a_request("POST", REVIEWS, a_review(line="10")),
    "line null": a_request("POST", REVIEWS, a_review(line=None)),
    "unknown event": a_request("POST", REVIEWS, a_review() | {"event": "COMMENTED"}),
    "single comment without commit": a_request("POST", COMMENTS, COMMENT),
    "subject type of a hunk": a_request(
        "POST", COMMENTS, COMMENT | {"commit_id": SHA, "subject_type": "hunk"}
    ),
    "unknown reaction": a_request(
        "POST", "/repos/acme/shop/issues/comments/7/reactions", {"content": "thumbsup"}
    ),
    "unknown check status": a_request(
        "POST", "/repos/acme/shop/check-runs", {"name": "r", "head_sha": SHA, "status": "running"}
    ),
    "unknown commit status": a_request("POST", f"/repos/acme/shop/statuses/{SHA}", {"state": "running"}),
    "51 annotations": a_request(
        "POST",
        "/repos/acme/shop/check-runs",
        {
            "name": "r",
            "head_sha": SHA,
            "output": {
                "title": "t",
                "summary": "s",
                "annotations": [
                    {
                        "path": "a",
                        "start_line": 1,
                        "end_line": 1,
                        "annotation_level": "notice",
                        "message": "m",
                    }
                ]
                * 51,
            },
        },
    ),
    "page size as text": a_request("GET", f"{REVIEWS[:-8]}/files", query=(("per_page", "abc"),)),
    "unknown side": a_request("POST", REVIEWS, a_review(side="UP")),
    "misspelt key": a_request("POST", REVIEWS, a_review(lines=3)),
    "completed without conclusion": a_request(
        "POST", "/repos/acme/shop/check-runs", {"name": "r", "head_sha": SHA, "status": "completed"}
    ),
    "neither line nor position": a_request("POST", REVIEWS, a_review(line=...)),
    "body above 65,536 characters": a_request("POST", REVIEWS, a_review() | {"body": "x" * 65_537}),
}
# What openapi-core does not look at.
BAD_FOR_US_ALONE = {
    "unknown path": a_request("GET", "/repos/acme/shop/pull/1"),
    "unknown query parameter": a_request("GET", f"{REVIEWS[:-8]}/files", query=(("perpage", "100"),)),
    "body that is not JSON": RecordedRequest(
        method="POST",
        path=REVIEWS,
        query=[],
        headers={},
        body=b"event=COMMENT",
        status=200,
        response_body=b"",
    ),
}
GOOD = {
    "review": a_request("POST", REVIEWS, a_review()),
    "file with slashes": a_request("GET", "/repos/acme/shop/contents/src/a%20b%23.py", query=(("ref", SHA),)),
    "comparison of branches with slashes": a_request("GET", "/repos/acme/shop/compare/main...feat/x"),
    "token without body": a_request("POST", "/app/installations/1/access_tokens"),
    "page": a_request("GET", f"{REVIEWS[:-8]}/files", query=(("per_page", "100"), ("page", "2"))),
    "reply": a_request("POST", f"{COMMENTS}/5/replies", {"body": "ok"}),
    "completed check": a_request(
        "POST",
        "/repos/acme/shop/check-runs",
        {"name": "r", "head_sha": SHA, "status": "completed", "conclusion": "neutral"},
    ),
}


@pytest.mark.parametrize("name", [*BAD, *BAD_FOR_US_ALONE])
def test_a_bad_request_is_a_violation(name: str) -> None:
    spec = GitHubSpec.load()
    spec.check((BAD | BAD_FOR_US_ALONE)[name])
    assert spec.violations


@pytest.mark.parametrize("name", GOOD)
def test_a_good_request_is_none(name: str) -> None:
    spec = GitHubSpec.load()
    spec.check(GOOD[name])
    assert spec.violations == []


def test_openapi_core_says_the_same() -> None:
    openapi = _openapi_core()
    verdicts = {name: _openapi_core_accepts(openapi, request) for name, request in (BAD | GOOD).items()}
    assert verdicts == dict.fromkeys(BAD, False) | dict.fromkeys(GOOD, True)


def test_real_requests_are_judged_as_openapi_core_judges_them() -> None:
    openapi = _openapi_core()
    requests = _recorded_requests()
    assert len(requests) > 100
    disagreements = [
        f"{request.method} {request.path} {request.query}"
        for request in requests
        if bool(_without_extras(request)) is _openapi_core_accepts(openapi, request)
    ]
    assert disagreements == []


def test_checking_is_cheap_enough_for_every_request() -> None:
    spec = GitHubSpec.load()
    for request in GOOD.values():
        spec.check(request)
    started = time.process_time()
    for _ in range(20):
        for request in GOOD.values():
            spec.check(request)
    assert (time.process_time() - started) / (20 * len(GOOD)) < 0.005


def _without_extras(request: RecordedRequest) -> list[str]:
    return [problem for problem in GitHubSpec.load().problems(request) if "is not described" not in problem]


def _recorded_requests() -> list[RecordedRequest]:
    requests = []
    for file in sorted((SPECS.parent / "recordings").glob("*.json")):
        for exchange in json.loads(file.read_text()):
            path, _, query = exchange["url"].partition("?")
            pairs = tuple(tuple(pair.partition("=")[::2]) for pair in query.split("&") if pair)
            request = a_request(exchange["method"], path, exchange["request_json"], pairs)
            if "is not in the description" not in "".join(GitHubSpec.load().problems(request)):
                requests.append(request)
    return requests


def _openapi_core() -> Any:
    from openapi_core import Config, OpenAPI

    document = json.loads(STRICT_SPEC.read_text())
    document["servers"] = [{"url": "http://sandbox"}]  # else nothing matches
    return OpenAPI.from_dict(document, config=Config(spec_validator_cls=None))


def _openapi_core_accepts(openapi: Any, request: RecordedRequest) -> bool:
    from openapi_core.exceptions import OpenAPIError

    try:
        openapi.validate_request(_Adapter(request))
    except OpenAPIError:
        return False
    return True


class _Adapter:
    """The request as openapi-core wants it, with the slashes encoded that its path finder cannot take."""

    host_url = "http://sandbox"
    content_type = "application/json"

    def __init__(self, request: RecordedRequest) -> None:
        from openapi_core.datatypes import RequestParameters
        from werkzeug.datastructures import Headers, ImmutableMultiDict

        self.method = request.method.lower()
        self.body = request.body or None
        self.path = request.path
        for prefix in ("/contents/", "/compare/", "/commits/", "/git/trees/"):
            head, found, rest = self.path.partition(prefix)
            if found:
                for suffix in ("/check-runs", "/status", ""):
                    if rest.endswith(suffix):
                        break
                self.path = head + found + rest.removesuffix(suffix).replace("/", "%2F") + suffix
        self.parameters = RequestParameters(
            query=ImmutableMultiDict(request.query), header=Headers(), cookie=ImmutableMultiDict()
        )

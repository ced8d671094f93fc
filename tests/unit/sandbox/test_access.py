"""Who may do what: tokens, JWTs, installation tokens, permissions, limits."""

import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from deploy.sandbox.github import GitHubSandbox
from tests.unit.sandbox.conftest import HTTP, REPO, Client, public_pem

PULL = f"/repos/{REPO}/pulls/1"


@pytest.fixture
def installation(sandbox: GitHubSandbox, key: rsa.RSAPrivateKey) -> int:
    return sandbox.add_app(9, "redline", public_pem(key), {"pull_requests": "write", "contents": "read"})


def a_jwt(key: rsa.RSAPrivateKey, *, issued: int = -60, expires: int = 300, issuer: str = "9") -> str:
    moment = int(time.time())
    return jwt.encode(
        {"iss": issuer, "iat": moment + issued, "exp": moment + expires}, key, algorithm="RS256"
    )


def as_app(sandbox: GitHubSandbox, token: str) -> tuple[int, str]:
    answer = Client(sandbox, token)("GET", "/app", scheme="Bearer")
    return answer.status_code, answer.json().get("message", "")


def a_token(sandbox: GitHubSandbox, key: rsa.RSAPrivateKey, installation: int, body: object = None) -> Client:
    path = f"/app/installations/{installation}/access_tokens"
    answer = Client(sandbox, a_jwt(key))("POST", path, body or {}, scheme="Bearer")
    assert answer.status_code == 201, answer.text
    return Client(sandbox, answer.json()["token"])


@pytest.mark.usefixtures("installation")
def test_verifies_jwts(sandbox: GitHubSandbox, key: rsa.RSAPrivateKey) -> None:
    stranger = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    undecodable = (401, "A JSON web token could not be decoded")
    assert as_app(sandbox, a_jwt(key)) == (200, "")
    assert as_app(sandbox, a_jwt(stranger)) == undecodable
    assert as_app(sandbox, "a.b.c") == undecodable
    assert as_app(sandbox, a_jwt(key, expires=-1))[1].startswith("'Expiration time' claim ('exp') must be")
    assert as_app(sandbox, a_jwt(key, expires=700)) == (
        401,
        "'Expiration time' claim ('exp') is too far in the future",
    )
    assert as_app(sandbox, a_jwt(key, issued=60))[0] == 401


def test_an_installation_token_has_only_what_was_granted(
    sandbox: GitHubSandbox, key: rsa.RSAPrivateKey, installation: int
) -> None:
    app = a_token(sandbox, key, installation)
    assert len(app.token) > 300
    assert app("GET", PULL).status_code == 200
    refused = app("POST", f"/repos/{REPO}/check-runs", {"name": "r", "head_sha": "0" * 40})
    assert (refused.status_code, refused.json()["message"]) == (403, "Resource not accessible by integration")
    reader = a_token(sandbox, key, installation, {"permissions": {"pull_requests": "read"}})
    assert reader("GET", PULL).status_code == 200
    assert reader("POST", f"{PULL}/reviews", {"event": "COMMENT", "body": "x"}).status_code == 403
    assert app("GET", "/user").status_code == 403


def test_a_token_for_more_than_granted_is_refused(
    sandbox: GitHubSandbox, key: rsa.RSAPrivateKey, installation: int
) -> None:
    with pytest.raises(
        AssertionError, match="The permissions requested are not granted to this installation"
    ):
        a_token(sandbox, key, installation, {"permissions": {"checks": "write"}})


def test_installation_tokens_expire(
    sandbox: GitHubSandbox, key: rsa.RSAPrivateKey, installation: int
) -> None:
    app = a_token(sandbox, key, installation)
    sandbox.expire_tokens()
    assert (app("GET", PULL).status_code, app("GET", PULL).json()["message"]) == (401, "Bad credentials")


def test_a_jwt_is_no_token(sandbox: GitHubSandbox, key: rsa.RSAPrivateKey, installation: int) -> None:
    assert Client(sandbox, a_jwt(key))("GET", PULL, scheme="Bearer").status_code == 401


def test_strangers_see_nothing(sandbox: GitHubSandbox) -> None:
    assert HTTP.get(sandbox.api_url + PULL).json()["message"] == "Requires authentication"
    assert Client(sandbox, "wrong")("GET", PULL).json()["message"] == "Bad credentials"
    assert Client(sandbox, "mallory-token")("GET", PULL).status_code == 404


def test_readers_may_talk_but_set_no_status(sandbox: GitHubSandbox) -> None:
    grace = Client(sandbox, "grace-token")
    head = sandbox.pull(REPO, 1).head_sha
    assert grace("POST", f"/repos/{REPO}/issues/1/comments", {"body": "Nice."}).status_code == 201
    assert grace("POST", f"/repos/{REPO}/statuses/{head}", {"state": "success"}).status_code == 404


def test_only_apps_write_check_runs(api: Client) -> None:
    answer = api("POST", f"/repos/{REPO}/check-runs", {"name": "r", "head_sha": "0" * 40})
    assert (answer.status_code, answer.json()["message"]) == (403, "You must authenticate via a GitHub App.")


@pytest.mark.parametrize(
    ("login", "permission"), [("ada", "write"), ("grace", "read"), ("mallory", "none"), ("nobody", None)]
)
def test_tells_permissions(api: Client, login: str, permission: str | None) -> None:
    answer = api("GET", f"/repos/{REPO}/collaborators/{login}/permission")
    assert answer.json().get("permission") == permission
    assert answer.status_code == (200 if permission else 404)


def test_counts_requests(api: Client) -> None:
    first, second = api("GET", PULL).headers, api("GET", PULL).headers
    assert int(first["X-RateLimit-Remaining"]) - int(second["X-RateLimit-Remaining"]) == 1


def test_the_primary_limit_answers_403_with_its_end(sandbox: GitHubSandbox, api: Client) -> None:
    reset = int(time.time()) + 100
    sandbox.exhaust_rate_limit(reset)
    answer = api("GET", PULL)
    assert (answer.status_code, answer.headers["X-RateLimit-Remaining"]) == (403, "0")
    assert answer.headers["X-RateLimit-Reset"] == str(reset)


def test_the_content_limit_blocks_writing_alone(sandbox: GitHubSandbox, api: Client) -> None:
    sandbox.limit_content(per_minute=1, retry_after_s=7)
    comment = f"/repos/{REPO}/issues/1/comments"
    assert api("POST", comment, {"body": "1"}).status_code == 201
    blocked = api("POST", comment, {"body": "2"})
    assert (blocked.status_code, blocked.headers["Retry-After"]) == (403, "7")
    assert "secondary rate limit" in blocked.json()["message"]
    assert api("GET", comment).status_code == 200
    assert len(sandbox.pull(REPO, 1).conversation) == 1

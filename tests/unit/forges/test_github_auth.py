"""Who we are on GitHub: Apps with one short-lived token per repository, or one token (forges.md B2)."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bot.events import PullRequestRef
from bot.forges.base import AnswerUnclear, ForgeDenied, ForgeMissing, ForgeUnavailable
from bot.forges.github import GitHubForge, github_is_configured, open_github
from bot.forges.github_auth import AppCredentials, TokenCredentials
from bot.forges.github_transport import GitHubTransport
from bot.settings import Settings


def tokens_issued(world):
    return world.sent("POST", "/access_tokens")


def test_a_token_reaches_one_repository_only(app_github):
    app_github.sandbox.create_repository("acme/other")
    first = app_github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    assert [one.json() for one in tokens_issued(app_github)] == [{"repositories": ["shop"]}]
    app_github.forge.may_write("acme/other", "ada")
    app_github.forge.get_pull_request(first.ref)
    assert [one.json()["repositories"] for one in tokens_issued(app_github)] == [["shop"], ["other"]]
    used = {one.path.split("/")[3]: one.headers["Authorization"] for one in app_github.sandbox.requests[1:]
            if one.path.startswith("/repos/acme/") and not one.path.endswith("/installation")}  # fmt: skip
    assert len(set(used.values())) == 2


def test_threads_share_one_token(app_github):
    app_github.sandbox.commit("acme/shop", "main", {"x.py": "1\n"})
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: app_github.forge.may_write("ACME/shop", "ada"), range(8)))
    assert answers == [True] * 8
    assert len(tokens_issued(app_github)) == 1


def test_a_token_that_was_revoked_is_replaced_and_the_request_done(app_github):
    pull = app_github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    app_github.sandbox.expire_tokens()
    app_github.forge.post_review(pull.ref, head_sha=pull.head_sha, body="b", comments=[])
    assert len(app_github.state(pull).reviews) == 1
    assert len(tokens_issued(app_github)) == 2


def test_a_token_is_renewed_before_it_expires(app_github):
    def answer(left_s):
        expires = (datetime.now(UTC) + timedelta(seconds=left_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"token": "ghs_short", "expires_at": expires, "permissions": {}}

    app_github.sandbox.fail("POST", "/access_tokens$", status=201, body=answer(30))
    app_github.sandbox.fail("GET", "/permission$", status=404, body={"message": "Not Found"}, times=2)
    app_github.forge.may_write("acme/shop", "kim")
    assert len(tokens_issued(app_github)) == 1
    app_github.forge.may_write("acme/shop", "kim")
    assert len(tokens_issued(app_github)) == 2
    app_github.forge.may_write("acme/shop", "ada")
    assert len(tokens_issued(app_github)) == 2


def test_an_app_that_is_not_installed_says_so(app_github):
    with pytest.raises(ForgeMissing, match="not installed on acme/nothing"):
        app_github.forge.may_write("acme/nothing", "ada")


def test_a_wrong_key_or_id_is_denied_and_not_asked_for_ever(app_github, app_keys, other_key):
    for app_id, key, name in (("4799", app_keys[0], "APP_ID"), ("4711", other_key, "private key")):
        transport = GitHubTransport(app_github.sandbox.api_url, backoff_s=0.01)
        forge = GitHubForge(transport, AppCredentials(transport, app_id, key))
        for ask in (forge.own_login, lambda forge=forge: forge.may_write("acme/shop", "ada")):
            with pytest.raises(ForgeDenied, match=name):
                ask()
        forge.close()
    assert len(app_github.sandbox.requests) == 4


def private_pem(key, protection=None):
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(
        serialization.Encoding.PEM, form, protection or serialization.NoEncryption()
    ).decode()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (lambda _keys: " \n", "is empty"),
        (lambda _keys: "ghp_secret", "not in PEM form"),
        (lambda keys: keys[1], "no private key, but a public key"),
        (lambda keys: keys[0][: len(keys[0]) // 2], "damaged or incomplete"),
        (lambda _keys: private_pem(ec.generate_private_key(ec.SECP256R1())), "another kind than RSA"),
        (
            lambda keys: private_pem(
                serialization.load_pem_private_key(keys[0].encode(), None),
                serialization.BestAvailableEncryption(b"secret"),
            ),
            "protected by a password",
        ),
    ],
)
def test_what_is_wrong_with_a_key_file_is_said(tmp_path, app_keys, text, problem):
    key_file = tmp_path / "key.pem"
    key_file.write_text(text(app_keys))
    settings = Settings(github_app_id="1", github_private_key_file=key_file)
    with pytest.raises(ForgeDenied, match=problem) as caught:
        open_github(settings)
    assert str(key_file) in str(caught.value)
    assert "ghp_" not in str(caught.value)


def test_a_key_in_either_of_the_usual_forms_is_read(tmp_path, app_keys):
    key_file = tmp_path / "key.pem"
    as_pkcs8 = private_pem(serialization.load_pem_private_key(app_keys[0].encode(), None))
    for text in (app_keys[0], as_pkcs8, f"\n{app_keys[0]}\n"):
        key_file.write_text(text)
        open_github(Settings(github_app_id="1", github_private_key_file=key_file)).close()


def test_a_wrong_token_is_denied_with_what_to_check(sandbox):
    transport = GitHubTransport(sandbox.api_url, backoff_s=0.01)
    forge = GitHubForge(transport, TokenCredentials(transport, "wrong"))
    for ask in (forge.own_login, lambda: forge.may_write("acme/shop", "ada")):
        with pytest.raises(ForgeDenied, match="REDLINE_GITHUB_TOKEN"):
            ask()
    assert len(sandbox.requests) == 2
    forge.close()


def test_a_strange_answer_about_the_installation_is_a_forge_error(app_github):
    app_github.sandbox.fail("POST", "/access_tokens$", status=201, body={"token": "x", "expires_at": "soon"})
    for body in ([], {}, {"id": "x"}, "<html>", {"id": 5}):
        app_github.sandbox.fail("GET", "/installation$", status=200, body=body)
        with pytest.raises(ForgeUnavailable):
            app_github.forge.may_write("acme/shop", "ada")


def test_a_token_that_cannot_be_had_leaves_no_doubt_about_the_write(app_github):
    pull = app_github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    app_github.sandbox.expire_tokens()
    app_github.sandbox.fail("POST", "/access_tokens$", drop_connection=True, times=9)
    with pytest.raises(ForgeUnavailable) as caught:
        app_github.forge.post_comment(pull.ref, "b")
    assert not isinstance(caught.value, AnswerUnclear)
    assert len(tokens_issued(app_github)) == 4  # one at first, then three attempts


def test_opens_what_the_settings_describe(sandbox, app_keys, tmp_path):
    key_file = tmp_path / "key.pem"
    key_file.write_text(app_keys[0])
    sandbox.add_user("redline", token="tok")
    sandbox.add_app(4711, "red-line", app_keys[1], {"pull_requests": "write"})
    url = {"github_api_url": f"{sandbox.api_url}/"}
    by_token = Settings(**url, github_token=" tok\n")
    by_app = Settings(**url, github_app_id="4711", github_private_key_file=key_file)
    for settings, login in ((by_token, "redline"), (by_app, "red-line[bot]")):
        assert github_is_configured(settings)
        forge = open_github(settings)
        assert forge.own_login() == login
        forge.close()


def test_without_credentials_there_is_no_forge():
    assert not github_is_configured(Settings())
    assert not github_is_configured(Settings(github_token="  "))
    with pytest.raises(ForgeDenied, match="not configured"):
        open_github(Settings())


def test_a_key_file_that_is_no_text_is_named(tmp_path):
    key_file = tmp_path / "key.der"
    key_file.write_bytes(b"\x30\x82\xff")
    with pytest.raises(ForgeDenied, match=r"key\.der"):
        open_github(Settings(github_app_id="1", github_private_key_file=key_file))


def test_the_jwt_lives_five_minutes_and_allows_for_a_slow_clock(app_github):
    app_github.forge.own_login()
    token = app_github.sandbox.requests[-1].headers["Authorization"].removeprefix("Bearer ")
    payload = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert payload["iss"] == "4711"
    assert payload["exp"] - payload["iat"] == 360


def test_a_pull_request_in_another_case_of_the_name_uses_the_same_token(app_github):
    app_github.sandbox.commit("acme/shop", "feature", {"a.py": "1\n"})
    number = app_github.sandbox.open_pull_request("acme/shop", "feature")
    for name in ("acme/shop", "Acme/Shop"):
        app_github.forge.get_pull_request(PullRequestRef(forge="github", repository=name, number=number))
    assert len(tokens_issued(app_github)) == 1

"""M2: who may speak to us as GitLab, by the secret token or the signing token (forges.md C1)."""

import json
import time
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from bot.forges.gitlab_signature import is_usable_secret, verify_gitlab_webhook

VECTORS = Path(__file__).resolve().parents[3] / "../shared/forge/data/webhook_signature_vectors.json"
TOKEN = "whsec_" + b64encode(b"s" * 32).decode()
OTHER = "whsec_" + b64encode(b"t" * 32).decode()
BODY = '{"object_kind":"merge_request","user":{"name":"Zoë 😀"}}'.encode()


def signed(body: bytes = BODY, token: str = TOKEN, *, at: float = 0.0, **changed: str) -> dict[str, str]:
    """Sign as GitLab does, `at` seconds from now."""
    moment = datetime.fromtimestamp(int(time.time() + at), tz=UTC)
    headers = {
        "webhook-id": "f5e5f430",
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": Webhook(token).sign("f5e5f430", moment, body.decode()),
    }
    return headers | changed


def verify(headers: dict[str, str], body: bytes = BODY, secrets: tuple[str, ...] = (TOKEN,)) -> bool:
    return verify_gitlab_webhook(body, headers, [secret.encode() for secret in secrets])


@pytest.mark.skipif(not VECTORS.is_file(), reason="../shared/forge with the signature vectors is not here")
def test_the_published_vector_is_signed_by_the_same_rule():
    vector = json.loads(VECTORS.read_text(encoding="utf-8"))["gitlab"]
    moment = datetime.fromtimestamp(int(vector["webhook-timestamp"]), tz=UTC)
    again = Webhook(vector["signing_token"]).sign(vector["webhook-id"], moment, vector["body"])
    assert again == vector["webhook-signature"]
    # It is genuine, and too old to be taken.
    assert not verify(vector, vector["body"].encode(), (vector["signing_token"],))


@pytest.mark.parametrize("secrets", [("s3cret",), ("old", "s3cret"), ("s3cret", TOKEN)])
def test_the_secret_token_is_enough(secrets):
    assert verify({"X-Gitlab-Token": "s3cret"}, secrets=secrets)


@pytest.mark.parametrize("token", ["", "s3cre", "s3cret ", "S3CRET", "é", "s3cret\udcff"])
def test_another_token_is_not(token):
    assert not verify({"X-Gitlab-Token": token}, secrets=("s3cret",))
    assert not verify({}, secrets=("s3cret",))


def test_without_a_secret_nobody_gets_in():
    assert not verify({"X-Gitlab-Token": ""}, secrets=())
    assert not verify({"X-Gitlab-Token": ""}, secrets=("",))


def test_a_signature_is_enough_alone_or_beside_a_token():
    assert verify(signed())
    assert verify(signed() | {"X-Gitlab-Token": "whatever"})
    assert verify(signed(token=OTHER), secrets=("s3cret", TOKEN, OTHER))


def test_the_signing_token_itself_is_no_secret_token():
    assert not verify({"X-Gitlab-Token": TOKEN})
    assert not verify(signed(), secrets=("s3cret",))


def test_several_signatures_may_come_while_a_token_is_replaced():
    both = f"{signed(token=OTHER)['webhook-signature']} {signed()['webhook-signature']}"
    assert verify(signed(**{"webhook-signature": both}))
    assert verify(signed(**{"webhook-signature": f"v2,AAAA {signed()['webhook-signature']}"}))


@pytest.mark.parametrize("at", [-290, 290])
def test_five_minutes_are_tolerated(at):
    assert verify(signed(at=at))


@pytest.mark.parametrize("at", [-310, 310])
def test_an_old_or_future_signature_is_refused(at):
    """A recorded webhook cannot be played again later."""
    assert not verify(signed(at=at))


@pytest.mark.parametrize(
    "changed",
    [
        {"webhook-id": "another"},
        {"webhook-timestamp": str(int(time.time()) - 7)},
        {"webhook-timestamp": "soon"},
        {"webhook-timestamp": "inf"},
        {"webhook-signature": "v1,AAAA"},
        {"webhook-signature": "nonsense"},
        {"webhook-signature": "v1,é"},
        {"webhook-signature": ""},
        {"webhook-id": ""},
    ],
)
def test_what_was_tampered_with_is_refused(changed):
    assert not verify(signed(**changed))
    assert not verify(signed(), BODY + b" ")


@given(st.binary(max_size=50), st.text(max_size=60), st.text(max_size=60))
def test_no_stranger_gets_in_or_breaks_it(body, first, second):
    headers = signed(**{"webhook-signature": first, "webhook-id": second}) | {"X-Gitlab-Token": first}
    assert not verify(headers, body, (TOKEN, "s3cret-that-is-long"))


def test_a_signing_token_that_is_cut_off_is_noticed():
    assert is_usable_secret(TOKEN.encode())
    assert is_usable_secret(b"anything")
    for broken in (b"whsec_", b"whsec_***", TOKEN[:-3].encode()):
        assert not is_usable_secret(broken)
    assert b64decode(TOKEN.removeprefix("whsec_")) == b"s" * 32

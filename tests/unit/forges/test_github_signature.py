"""M2: who may speak to us, decided on raw bytes."""

import hashlib
import hmac
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.forges.github_signature import verify_github_signature

VECTORS = Path(__file__).resolve().parents[3] / "../shared/forge/data/webhook_signature_vectors.json"


def sign(body: bytes, secret: bytes) -> str:
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


@pytest.mark.skipif(not VECTORS.is_file(), reason="../shared/forge with the signature vectors is not here")
@pytest.mark.parametrize("name", ["github", "github_form"])
def test_accepts_the_published_vectors(name):
    vector = json.loads(VECTORS.read_text(encoding="utf-8"))[name]
    body = vector.get("body", vector.get("raw_body")).encode()
    secret = vector["secret"].encode()
    assert verify_github_signature(body, vector["X-Hub-Signature-256"], [secret])
    assert not verify_github_signature(body + b"\n", vector["X-Hub-Signature-256"], [secret])


def test_accepts_the_vector_of_githubs_documentation():
    header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert verify_github_signature(b"Hello, World!", header, [b"It's a Secret to Everybody"])


def test_any_of_several_secrets_is_enough_while_one_is_replaced():
    for secret in (b"old", b"new"):
        assert verify_github_signature(b"{}", sign(b"{}", secret), [b"old", b"new"])
    assert not verify_github_signature(b"{}", sign(b"{}", b"older"), [b"old", b"new"])


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "sha256=",
        "sha1=" + hmac.new(b"s", b"{}", hashlib.sha1).hexdigest(),
        sign(b"{}", b"s").removeprefix("sha256="),
        sign(b"{}", b"s").upper(),
        sign(b"{}", b"s") + " ",
        "sha256=ünïcödé",
        "sha256=\udce4\ud800",
    ],
)
def test_refuses_a_header_that_is_no_signature(header):
    assert verify_github_signature(b"{}", header, [b"s"]) is False


def test_refuses_everything_without_a_secret():
    assert not verify_github_signature(b"{}", sign(b"{}", b""), [])
    assert not verify_github_signature(b"{}", sign(b"{}", b""), [b""])


@given(body=st.binary(), header=st.text(st.characters(), max_size=80))
def test_no_header_raises(body, header):
    assert verify_github_signature(body, header, [b"s"]) is False


@given(body=st.binary(), secret=st.binary(min_size=1))
def test_signs_bytes_that_are_no_text(body, secret):
    assert verify_github_signature(body, sign(body, secret), [secret])
    assert not verify_github_signature(body + b"\0", sign(body, secret), [secret])

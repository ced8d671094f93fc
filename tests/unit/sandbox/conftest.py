"""A sandbox with one pull request, and a client that speaks plain HTTP to it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from deploy.sandbox.github import GitHubSandbox

REPO = "acme/shop"
OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\nthirteen\nfourteen\n"
# Two hunks: line 2 changes, and a line is added behind 13.
NEW = OLD.replace("two\n", "2\n").replace("thirteen\n", "thirteen\nthirteen and a half\n")


HTTP = httpx.Client(trust_env=False)  # one for all: making one reads all root certificates


@dataclass(frozen=True, slots=True)
class Client:
    """Call the API as the account whose token it has."""

    sandbox: GitHubSandbox
    token: str = "bot-token"

    def __call__(
        self, method: str, path: str, body: object = None, *, accept: str = "", scheme: str = "token"
    ) -> httpx.Response:
        headers = {"Authorization": f"{scheme} {self.token}"} | ({"Accept": accept} if accept else {})
        return HTTP.request(method, self.sandbox.api_url + path, json=body, headers=headers)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[GitHubSandbox]:
    sandbox = GitHubSandbox(tmp_path / "forge")
    sandbox.start()
    sandbox.add_user("redline-bot", "write", token="bot-token")
    sandbox.add_user("grace", "read", token="grace-token")
    sandbox.add_user("mallory", "none", token="mallory-token")
    sandbox.create_repository(REPO, {"a.py": OLD, "b.py": "b\n"})
    sandbox.commit(REPO, "feature", {"a.py": NEW, "logo.png": b"\0\1\2"})
    sandbox.open_pull_request(REPO, "feature", title="Change a")
    yield sandbox
    sandbox.stop()


@pytest.fixture
def api(sandbox: GitHubSandbox) -> Client:
    return Client(sandbox)


@pytest.fixture(scope="session")
def key() -> rsa.RSAPrivateKey:
    """The private key of the App; making one takes long."""
    return rsa.generate_private_key(public_exponent=65_537, key_size=2048)


def public_pem(key: rsa.RSAPrivateKey) -> str:
    public = key.public_key()
    return public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()

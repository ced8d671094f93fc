"""A sandbox GitLab with one merge request, and a client that speaks plain HTTP to it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from deploy.sandbox.gitlab import GitLabSandbox
from tests.unit.sandbox.conftest import HTTP, NEW, OLD

REPO = "acme/sub/shop"
PROJECT = "/projects/acme%2Fsub%2Fshop"
ONE = f"{PROJECT}/merge_requests/1"
LINE_CODE_ERROR = '400 Bad request - Note {:line_code=>["can\'t be blank", "must be a valid line code"]}'


@dataclass(frozen=True, slots=True)
class Client:
    """Call the API with a token."""

    sandbox: GitLabSandbox
    token: str = "bot-token"

    def __call__(self, method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
        sent = headers or {"PRIVATE-TOKEN": self.token}
        return HTTP.request(method, self.sandbox.api_url + path, json=body, headers=sent)

    def position(self, **changes: object) -> dict[str, Any]:
        """Make the position of the added line 2 of a.py, with changes; ... leaves a key out."""
        refs = self("GET", ONE).json()["diff_refs"]
        made = {
            **refs, "position_type": "text", "old_path": "a.py", "new_path": "a.py", "new_line": 2, **changes,
        }  # fmt: skip
        return {name: value for name, value in made.items() if value is not ...}

    def discuss(self, body: str = "Hm.", **changes: object) -> httpx.Response:
        """Write on a line."""
        return self("POST", f"{ONE}/discussions", {"body": body, "position": self.position(**changes)})


def refusal(answer: httpx.Response) -> str:
    """Return the words of a 400."""
    assert answer.status_code == 400, answer.text
    told = answer.json()
    return str(told.get("message") or told.get("error"))


def make_sandbox(root: Path, **options: Any) -> GitLabSandbox:
    """Start a sandbox with one merge request that changes OLD to NEW."""
    sandbox = GitLabSandbox(root, **options)
    sandbox.start()
    sandbox.add_user("redline-bot", "write", token="bot-token")
    sandbox.add_user("grace", "read", token="grace-token")
    sandbox.add_user("mallory", "none", token="mallory-token")
    sandbox.create_repository(REPO, {"a.py": OLD, "b.py": "b\n"})
    sandbox.commit(REPO, "feature", {"a.py": NEW, "logo.png": b"\0\1\2"})
    sandbox.open_pull_request(REPO, "feature", title="Change a")
    return sandbox


@pytest.fixture
def options() -> dict[str, Any]:
    """What the sandbox is made with; a test overrides it by parametrizing."""
    return {}


@pytest.fixture
def sandbox(tmp_path: Path, options: dict[str, Any]) -> Iterator[GitLabSandbox]:
    sandbox = make_sandbox(tmp_path / "forge", **options)
    yield sandbox
    sandbox.stop()


@pytest.fixture
def api(sandbox: GitLabSandbox) -> Client:
    return Client(sandbox)

"""The two forges of the flow tests: a sandbox each, and what a test must know of it in the forge's own words."""

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.forges.base import Forge
from bot.forges.github import open_github
from bot.forges.gitlab import open_gitlab
from bot.settings import Settings
from deploy.sandbox.github import GitHubSandbox
from deploy.sandbox.gitlab import GitLabSandbox
from tests.contract.github_spec import GitHubSpec
from tests.contract.gitlab_spec import GitLabSpec

SECRET = "webhook-secret"
SIGNING_TOKEN = "whsec_" + b64encode(b"redline's webhooks are signed 32").decode()
TOKEN = "token-of-the-bot"
BOT = "redline-bot"
APP_SLUG = "redline-app"


class Host(ABC):
    """One forge: its sandbox, how Redline is configured for it, and what it calls things.

    `requests_of` names requests by method and path, for faults; `read_permission` is what a denied read names.
    """

    name: str
    repository: str
    suggestion: str
    bot_name: str
    requests_of: Mapping[str, tuple[str, str]]
    read_permission: str
    sandbox: Any
    bot: str = BOT

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Give the settings with which Redline works on this forge."""

    @abstractmethod
    def open(self, settings: Settings) -> Forge:
        """Open the client."""

    @abstractmethod
    def new_spec(self) -> Any:
        """Give what requests are held against; None where the forge's description is not beside the repository."""

    @abstractmethod
    def count_published(self, number: int) -> int:
        """Count how often inline comments were published, together each time."""

    @abstractmethod
    def leave_unpublished(self, number: int) -> None:
        """Leave behind what an attempt has written and not published."""

    @abstractmethod
    def delete_inline_comment(self, number: int, comment_id: int) -> None:
        """Delete a comment of the bot, as a maintainer would."""

    @abstractmethod
    def limit(self, request: str, retry_after_s: int) -> None:
        """Answer the next such request with the rate limit."""

    def status_of(self, state: Any) -> tuple[str, str]:
        """Give state and description of the newest mark, the state in GitHub's words."""
        _sha, _context, text, description = state.statuses[-1]
        return {"running": "pending", "failed": "failure"}.get(text, text), description

    def unfinished_marks(self, state: Any) -> list[str]:
        """List the commits whose mark has not ended."""
        last = {(sha, context): text for sha, context, text, _ in state.statuses}
        return [sha for (sha, _), text in last.items() if text in ("pending", "running")]

    def fail(self, request: str, *, times: int = 1, **fault: Any) -> None:
        """Answer the next such requests wrongly."""
        method, path = self.requests_of[request]
        self.sandbox.fail(method, path, times=times, **fault)

    def deny(self, request: str, *, times: int = 1) -> None:
        """Answer the next such requests as without the permission."""
        self.fail(
            request, times=times, status=403, body={"message": "Resource not accessible by integration"}
        )


class GitHub(Host):
    """GitHub, with the bot as an account, or as an App."""

    name = "github"
    repository = "acme/shop"
    suggestion = "```suggestion\n"
    bot_name = "helper[bot]"
    read_permission = "pull requests: read"
    requests_of = {  # noqa: RUF012 - constant
        "pull request": ("GET", r"/pulls/\d+$"),
        "comments": ("GET", r"/issues/\d+/comments"),
        "review": ("POST", r"/pulls/\d+/reviews$"),
        "comment": ("POST", r"/issues/\d+/comments$"),
        "status": ("POST", r"/statuses/"),
        "reaction": ("POST", r"/reactions$"),
    }

    def __init__(self, folder: Path, *, as_app: bool = False) -> None:
        self.sandbox = GitHubSandbox(root=folder / "git", webhook_secret=SECRET)
        self.sandbox.add_user(BOT, permission="write", token=TOKEN)
        self._credentials: dict[str, Any] = {"github_token": TOKEN}
        if as_app:
            self.bot = f"{APP_SLUG}[bot]"
            self._credentials = self._register_app(folder)
        self.sandbox.start()

    def settings(self) -> dict[str, Any]:
        return {
            "github_api_url": self.sandbox.api_url,
            "github_webhook_secret": SECRET,
            **self._credentials,
        }

    def open(self, settings: Settings) -> Forge:
        return open_github(settings)

    def new_spec(self) -> GitHubSpec | None:
        return GitHubSpec.load() if GitHubSpec.is_available() else None

    def count_published(self, number: int) -> int:
        return [each.state for each in self.sandbox.pull(self.repository, number).reviews].count("COMMENTED")

    def leave_unpublished(self, number: int) -> None:
        self.sandbox.review(self.repository, number, author=BOT, body="left over")

    def delete_inline_comment(self, number: int, comment_id: int) -> None:
        answer = httpx.delete(
            f"{self.sandbox.api_url}/repos/{self.repository}/pulls/comments/{comment_id}",
            headers={"Authorization": f"Bearer {TOKEN}"},
        )
        assert answer.status_code == 204, answer.text

    def limit(self, request: str, retry_after_s: int) -> None:
        message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        headers = {"Retry-After": str(retry_after_s)}
        self.fail(request, status=403, headers=headers, body={"message": message})

    def status_of(self, state: Any) -> tuple[str, str]:
        if not state.check_runs:
            return super().status_of(state)
        run = state.check_runs[-1]
        return run.conclusion or run.status, run.title

    def unfinished_marks(self, state: Any) -> list[str]:
        runs = [run.head_sha for run in state.check_runs if run.status != "completed"]
        return super().unfinished_marks(state) + runs

    def _register_app(self, folder: Path) -> dict[str, Any]:
        """Make a GitHub App with the permissions that the README names."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        file = folder / "app.pem"
        file.write_bytes(private)
        permissions = {"contents": "read", "metadata": "read", "pull_requests": "write", "issues": "write"}
        self.sandbox.add_app(4711, APP_SLUG, public.decode(), {**permissions, "checks": "write"})
        return {"github_app_id": "4711", "github_private_key_file": file}


class GitLab(Host):
    """A self-managed GitLab below a path, with a project in nested groups and webhooks that are signed."""

    name = "gitlab"
    repository = "acme/web/shop"
    suggestion = "```suggestion:-0+0\n"
    bot_name = "project_1_bot_0a1b"
    read_permission = "role reporter"
    requests_of = {  # noqa: RUF012 - constant
        "pull request": ("GET", r"/merge_requests/\d+$"),
        "comments": ("GET", r"/merge_requests/\d+/notes$"),
        "review": ("POST", r"/draft_notes/bulk_publish$"),
        "comment": ("POST", r"/merge_requests/\d+/notes$"),
        "status": ("POST", r"/statuses/"),
        "reaction": ("POST", r"/award_emoji$"),
    }

    def __init__(self, folder: Path) -> None:
        self.sandbox = GitLabSandbox(
            root=folder / "git", signing_token=SIGNING_TOKEN, relative_url_root="/gitlab"
        )
        self.sandbox.add_user(BOT, permission="write", token=TOKEN)
        self.sandbox.start()

    def settings(self) -> dict[str, Any]:
        return {
            "gitlab_url": self.sandbox.url,
            "gitlab_webhook_secret": SIGNING_TOKEN,
            "gitlab_token": TOKEN,
        }

    def open(self, settings: Settings) -> Forge:
        return open_gitlab(settings)

    def new_spec(self) -> GitLabSpec | None:
        return GitLabSpec.load() if GitLabSpec.is_available() else None

    def count_published(self, number: int) -> int:
        path = f"/merge_requests/{number}/draft_notes/bulk_publish"
        return len([one for one in self.sandbox.requests if one.method == "POST" and one.path.endswith(path)])

    def leave_unpublished(self, number: int) -> None:
        project = self.repository.replace("/", "%2F")
        answer = httpx.post(
            f"{self.sandbox.api_url}/projects/{project}/merge_requests/{number}/draft_notes",
            headers={"PRIVATE-TOKEN": TOKEN},
            json={"note": "left over\n\n<!-- redline:finding=0 run=0 -->"},
        )
        assert answer.status_code == 201, answer.text

    def delete_inline_comment(self, number: int, comment_id: int) -> None:
        self.sandbox.delete_comment(self.repository, number, comment_id)

    def limit(self, request: str, retry_after_s: int) -> None:
        headers = {"Retry-After": str(retry_after_s)}
        self.fail(request, status=429, headers=headers, body="Retry later\n")


def make_host(name: str, folder: Path, *, as_app: bool = False) -> Host:
    """Start the sandbox of a forge."""
    return GitLab(folder) if name == "gitlab" else GitHub(folder, as_app=as_app)

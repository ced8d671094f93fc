"""The sandbox forge that the demo runs on, and how Redline is configured for it."""

import secrets
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from deploy.sandbox.forge import ForgeSandbox
from deploy.sandbox.github import GitHubSandbox
from deploy.sandbox.gitlab import GitLabSandbox

BOT = "redline-bot"
FORGES = ("github", "gitlab")
# GitLab's words for how a commit's status stands, in those of GitHub.
_STATES = {"running": "pending", "failed": "failure"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoForge:
    """A running sandbox, what a pull request is called there, and Redline's settings for it."""

    sandbox: ForgeSandbox
    pull_request: str
    sign: str
    settings: dict[str, str]

    def status(self, state: str) -> str:
        """Give how a mark stands: pending, success or failure."""
        return _STATES.get(state, state)


def start_forge(name: str, root: Path, webhooks: str, port: int) -> DemoForge:
    """Start the sandbox of a forge on a port; it sends its webhooks to the address `webhooks`."""
    return (_start_gitlab if name == "gitlab" else _start_github)(root, webhooks, port)


def _start_github(root: Path, webhooks: str, port: int) -> DemoForge:
    secret, token = secrets.token_hex(16), f"ghp_{secrets.token_hex(18)}"
    sandbox = GitHubSandbox(root=root, webhook_url=f"{webhooks}/webhooks/github", webhook_secret=secret)
    sandbox.add_user(BOT, permission="write", token=token)
    sandbox.start(port=port)
    return DemoForge(
        sandbox=sandbox,
        pull_request="pull request",
        sign="#",
        settings={
            "REDLINE_GITHUB_API_URL": sandbox.api_url,
            "REDLINE_GITHUB_TOKEN": token,
            "REDLINE_GITHUB_WEBHOOK_SECRET": secret,
        },
    )


def _start_gitlab(root: Path, webhooks: str, port: int) -> DemoForge:
    signing_token = f"whsec_{b64encode(secrets.token_bytes(32)).decode()}"
    token = f"glpat-{secrets.token_hex(10)}"
    sandbox = GitLabSandbox(root=root, webhook_url=f"{webhooks}/webhooks/gitlab", signing_token=signing_token)
    sandbox.add_user(BOT, permission="write", token=token)
    sandbox.start(port=port)
    return DemoForge(
        sandbox=sandbox,
        pull_request="merge request",
        sign="!",
        settings={
            "REDLINE_GITLAB_URL": sandbox.url,
            "REDLINE_GITLAB_TOKEN": token,
            "REDLINE_GITLAB_WEBHOOK_SECRET": signing_token,
        },
    )

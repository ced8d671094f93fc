"""The two forges: a strict sandbox of each, and our own client for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.forges.github import GitHubForge
from bot.forges.github_auth import TokenCredentials
from bot.forges.github_transport import GitHubTransport
from bot.forges.gitlab import GitLabForge
from bot.forges.gitlab_transport import GitLabTransport
from deploy.sandbox.forge import ForgeSandbox
from deploy.sandbox.github import GitHubSandbox
from deploy.sandbox.gitlab import GitLabSandbox

FORGES = ("github", "gitlab")
REPOSITORY = "acme/exact"
_BOT, _TOKEN = "redline-bot", "sandbox-token"
# From how many percent in common on a file is a renamed one; GitLab lists and looks up by its own figure.
_SIMILARITY = {"github": 50, "gitlab": 30}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A forge, our client for it, and how git has to be asked to see what this forge sees."""

    name: str
    sandbox: ForgeSandbox
    forge: GitHubForge | GitLabForge
    diff_options: tuple[str, ...]


@contextmanager
def open_stage(name: str, folder: Path) -> Iterator[Stage]:
    """Start a sandbox with an empty repository, and our client for it."""
    sandbox: ForgeSandbox = (GitHubSandbox if name == "github" else GitLabSandbox)(folder)
    sandbox.add_user(_BOT, "write", token=_TOKEN)
    sandbox.start()
    sandbox.create_repository(REPOSITORY, {"README.md": "# Exact\n"})
    forge = _open_client(name, sandbox)
    try:
        yield Stage(
            name=name,
            sandbox=sandbox,
            forge=forge,
            diff_options=(f"--find-renames={_SIMILARITY[name]}%",),
        )
    finally:
        forge.close()
        sandbox.stop()


def _open_client(name: str, sandbox: ForgeSandbox) -> GitHubForge | GitLabForge:
    if name == "gitlab":
        return GitLabForge(GitLabTransport(sandbox.url, _TOKEN))
    transport = GitHubTransport(sandbox.api_url, seconds_between_writes=0.0)
    return GitHubForge(transport, TokenCredentials(transport, _TOKEN))

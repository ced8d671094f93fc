"""`GitHubSandbox`: a GitHub of one's own, for tests and demos."""

from collections.abc import Mapping
from pathlib import Path

from deploy.sandbox.github import events
from deploy.sandbox.github.core import Core
from deploy.sandbox.github.people import People
from deploy.sandbox.github.state import GitHubApp, Hook, State, now
from deploy.sandbox.github.webhooks import GitHubOutbox

HOOK_EVENTS = ("issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment")


class GitHubSandbox(People):
    """A GitHub on loopback that enforces the real rules, over bare git repositories below `root`.

    It knows three people: ada (write), grace (read) and mallory (no access).
    """

    def __init__(
        self,
        root: Path,
        *,
        webhook_url: str = "",
        webhook_secret: str = "",
        content_type: str = "json",
        webhook_events: tuple[str, ...] = HOOK_EVENTS,
    ) -> None:
        state = State(root=Path(root))
        outbox = GitHubOutbox(state.next_id)
        hook = Hook(
            id=state.next_id(),
            url=webhook_url,
            secret=webhook_secret,
            content_type=content_type,
            events=webhook_events,
            repository="",
            created_at=now(),
        )
        state.hooks.append(hook)
        super().__init__(Core(state=state, outbox=outbox), hook)
        for login, permission in (("ada", "write"), ("grace", "read"), ("mallory", "none")):
            self.add_user(login, permission=permission)

    def pull_url(self, full_name: str, number: int) -> str:
        """Return the page of a pull request."""
        return f"{self.url}/{full_name}/pull/{number}"

    # Accounts

    def add_user(
        self, login: str, permission: str = "write", kind: str = "User", token: str | None = None
    ) -> None:
        """Make an account whose permission holds for all repositories; or change one that exists."""
        with self._state.lock:
            user = self._state.users.get(login.lower())
            if user is None:
                user = self._state.add_user(login, permission=permission, kind=kind)
            user.permission = permission
            if token:
                self._state.user_tokens[token] = user

    def add_app(self, app_id: int, slug: str, public_key_pem: str, permissions: Mapping[str, str]) -> int:
        """Register an App, installed on all repositories, and return the installation's id.

        The sandbox's webhook becomes the App's.
        """
        with self._state.lock:
            bot = self._state.add_user(f"{slug}[bot]", permission="none", kind="Bot")
            app = GitHubApp(
                id=app_id,
                slug=slug,
                public_key_pem=public_key_pem,
                permissions=dict(permissions),
                bot=bot,
                installation_id=self._state.next_id(),
                created_at=now(),
            )
            self._state.apps[app_id] = app
            return app.installation_id

    def expire_tokens(self) -> None:
        """Make all installation tokens expire now."""
        with self._state.lock:
            for token in self._state.installation_tokens.values():
                token.expires_at = now()

    # Trouble

    def limit_content(self, per_minute: int | None, retry_after_s: int | None = 60) -> None:
        """Block who creates more than `per_minute` comments and reviews; None lifts the limit."""
        self._core.limits.content_per_minute, self._core.limits.retry_after_s = per_minute, retry_after_s

    def exhaust_rate_limit(self, reset_at: float) -> None:
        """Answer everything with the primary rate limit's 403 until that Unix time."""
        self._core.limits.exhausted_until = reset_at

    def use_older_review_errors(self) -> None:
        """Word refused reviews as before 2026."""
        self._core.older_review_errors = True

    def ping(self) -> None:
        """Send what GitHub sends to a new webhook."""
        with self._state.lock:
            events.ping(self._core, self._state.hooks[0])

"""`GitHubSandbox`: a GitHub of one's own, for tests and demos."""

from collections.abc import Callable, Mapping
from pathlib import Path

from deploy.sandbox.github import events
from deploy.sandbox.github.app import create_app
from deploy.sandbox.github.core import Core
from deploy.sandbox.github.people import People
from deploy.sandbox.github.state import GitHubApp, Hook, State, now
from deploy.sandbox.github.web import PREFIX
from deploy.sandbox.github.webhooks import Delivery, Outbox
from deploy.sandbox.httpd import BackgroundServer
from deploy.sandbox.recording import RecordedRequest, Recorder

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
        self._outbox = Outbox(state.next_id)
        super().__init__(Core(state=state, outbox=self._outbox))
        self._recorder = Recorder(create_app(self._core), PREFIX)
        self._server: BackgroundServer | None = None
        self._hook = Hook(
            id=self._state.next_id(),
            url=webhook_url,
            secret=webhook_secret,
            content_type=content_type,
            events=webhook_events,
            repository="",
            created_at=now(),
        )
        self._state.hooks.append(self._hook)
        for login, permission in (("ada", "write"), ("grace", "read"), ("mallory", "none")):
            self.add_user(login, permission=permission)

    # Running it

    def start(self, port: int = 0, host: str = "127.0.0.1") -> None:
        """Listen on a port, a free one if it is 0, and begin to send webhooks."""
        self._server = BackgroundServer(self._recorder, host=host, port=port)
        self._state.url = self._server.url
        self._server.start()
        self._outbox.start()

    def stop(self) -> None:
        """Stop to listen and to send; what it remembers can still be read."""
        self._recorder.stopping.set()
        if self._server:
            self._server.stop()
        self._outbox.stop()

    @property
    def url(self) -> str:
        """Return where the pages are."""
        return self._state.url

    @property
    def api_url(self) -> str:
        """Return the REST API's base URL, as a client is configured with it."""
        return self._state.api_url

    @property
    def webhook_url(self) -> str:
        """Return where webhooks go; "" sends none."""
        return self._hook.url

    @webhook_url.setter
    def webhook_url(self, url: str) -> None:
        self._hook.url = url

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

    def fail(
        self,
        method: str,
        path_regex: str,
        *,
        times: int = 1,
        status: int | None = 502,
        body: object = None,
        headers: dict[str, str] | None = None,
        after_storing: bool = False,
        delay_s: float = 0.0,
        drop_connection: bool = False,
    ) -> None:
        """Answer the next `times` matching requests wrongly.

        `path_regex` is searched for in the path below /api/v3. `status` None only delays the right answer.
        With `after_storing` the request takes effect first.
        """
        self._recorder.add_fault(
            method,
            path_regex,
            times=times,
            status=status,
            body=body,
            headers=headers,
            after_storing=after_storing,
            delay_s=delay_s,
            drop_connection=drop_connection,
        )

    def limit_content(self, per_minute: int | None, retry_after_s: int | None = 60) -> None:
        """Block who creates more than `per_minute` comments and reviews; None lifts the limit."""
        self._core.limits.content_per_minute, self._core.limits.retry_after_s = per_minute, retry_after_s

    def exhaust_rate_limit(self, reset_at: float) -> None:
        """Answer everything with the primary rate limit's 403 until that Unix time."""
        self._core.limits.exhausted_until = reset_at

    def use_older_review_errors(self) -> None:
        """Word refused reviews as before 2026."""
        self._core.older_review_errors = True

    @property
    def requests(self) -> list[RecordedRequest]:
        """Return every request to the API so far."""
        return self._recorder.requests

    @property
    def observers(self) -> list[Callable[[RecordedRequest], object]]:
        """Return the functions that are called with each request; append to it."""
        return self._recorder.observers

    # Webhooks

    @property
    def deliveries(self) -> list[Delivery]:
        """Return every webhook sent or about to be sent."""
        return self._outbox.deliveries

    def redeliver(self, guid: str) -> None:
        """Send a webhook again under its GUID."""
        self._outbox.redeliver(next(one for one in self._outbox.deliveries if one.guid == guid))

    def wait_for_webhooks(self, timeout: float = 10.0) -> None:
        """Return when all webhooks were answered; raises TimeoutError."""
        self._outbox.wait(timeout)

    def ping(self) -> None:
        """Send what GitHub sends to a new webhook."""
        with self._state.lock:
            events.ping(self._core, self._hook)

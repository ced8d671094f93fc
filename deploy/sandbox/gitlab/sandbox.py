"""`GitLabSandbox`: a GitLab of one's own, for tests and demos."""

from collections.abc import Iterable
from pathlib import Path

from deploy.sandbox.gitlab import events
from deploy.sandbox.gitlab.core import Core
from deploy.sandbox.gitlab.options import NEWEST, Options
from deploy.sandbox.gitlab.people import People
from deploy.sandbox.gitlab.state import ACCESS_LEVELS, Hook, State, Token
from deploy.sandbox.gitlab.statuses import CONFLICT
from deploy.sandbox.gitlab.webhooks import GitLabOutbox, Health


class GitLabSandbox(People):
    """A GitLab on loopback that enforces the real rules, over bare git repositories below `root`.

    It knows three people: ada (write), grace (read) and mallory (no access). `options` say how this GitLab
    differs from the newest one with the default limits.
    """

    def __init__(
        self,
        root: Path,
        *,
        webhook_url: str = "",
        webhook_secret: str = "",
        signing_token: str = "",
        relative_url_root: str = "",
        version: str = NEWEST,
        auto_disable: bool = False,
    ) -> None:
        state = State(root=Path(root), relative_root=relative_url_root.rstrip("/"))
        self.options = Options(version=version)
        outbox = GitLabOutbox(state.next_id, self.options, auto_disable=auto_disable)
        hook = Hook(id=state.next_id(), url=webhook_url, secret=webhook_secret, signing_token=signing_token)
        super().__init__(Core(state=state, hook=hook, outbox=outbox, options=self.options))
        for login, permission in (("ada", "write"), ("grace", "read"), ("mallory", "none")):
            self.add_user(login, permission=permission)

    def pull_url(self, full_name: str, number: int) -> str:
        """Return the page of a merge request."""
        return f"{self.url}/{full_name}/-/merge_requests/{number}"

    # Accounts

    def add_user(
        self,
        login: str,
        permission: str = "write",
        kind: str = "User",
        token: str | None = None,
        scopes: Iterable[str] = ("api",),
    ) -> None:
        """Make an account whose role holds for all projects, or change one that exists.

        `permission` is none, read (Reporter), write (Developer), maintain (Maintainer) or admin (Owner).
        """
        with self._state.lock:
            user = self._state.users.get(login.lower()) or self._state.add_user(login, kind=kind)
            user.access_level = ACCESS_LEVELS[permission]
            if token:
                self._state.tokens[token] = Token(value=token, user=user, scopes=frozenset(scopes))

    def add_job_token(self, token: str, login: str = "ada") -> None:
        """Add what a pipeline has as CI_JOB_TOKEN, which is good for little."""
        with self._state.lock:
            self._state.tokens[token] = Token(
                value=token, user=self._state.user(login), scopes=frozenset(), is_job_token=True
            )

    def revoke(self, token: str) -> None:
        """Make a token one that is not known."""
        with self._state.lock:
            del self._state.tokens[token]

    # Trouble

    def fail_after_storing(self, method: str, path_regex: str, *, times: int = 1) -> None:
        """Store, and answer 500 all the same: GitLab does so when a step after the commit breaks."""
        body = {"message": "500 Internal Server Error"}
        self.fail(method, path_regex, times=times, status=500, body=body, after_storing=True)

    def hold_statuses(self, times: int = 1) -> None:
        """Answer the next statuses with 409, as while another update of the commit goes on."""
        self.fail("POST", "/statuses/", times=times, status=409, body=CONFLICT)

    def limit_content(self, per_minute: int | None, retry_after_s: int | None = 60) -> None:
        """Refuse more than `per_minute` new notes of one account with 429; None lifts the limit."""
        self._core.limits.notes_per_minute, self._core.limits.retry_after_s = per_minute, retry_after_s

    def exhaust_rate_limit(self, reset_at: float) -> None:
        """Answer everything with 429 until that Unix time."""
        self._core.limits.exhausted_until = reset_at

    def advertise(self, url: str) -> None:
        """Let links name another address than the one that is reached, as behind a wrong external_url."""
        self._state.advertised_url = url.rstrip("/")

    # Webhooks

    @property
    def webhook_health(self) -> Health:
        """Return how many webhooks failed in a row, and whether GitLab would send any more."""
        return self._core.outbox.health

    def ping(self) -> None:
        """Send what the button "Test" sends: any merge request there is, without an action."""
        with self._state.lock:
            for project in self._state.projects.values():
                for merge_request in project.merge_requests.values():
                    events.merge_request(self._core, merge_request, None, merge_request.user)
                    return

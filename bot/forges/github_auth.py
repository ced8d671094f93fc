"""Who we are on GitHub: a token's account, or an App with one token per repository."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from urllib.parse import quote

from github import Auth

from bot.forges.base import ForgeDenied, ForgeMissing, ForgeUnavailable
from bot.forges.github_errors import Reply, error_of
from bot.forges.github_transport import GitHubTransport

# A minute, so that a request that waits out a rate limit still carries a token that works.
_REFRESH_BEFORE = timedelta(seconds=60)


class Credentials(Protocol):
    """Give what a request is signed with."""

    is_app: bool

    def auth_for(self, repository: str) -> Auth.Auth:
        """Give the authentication for requests about a repository; raises ForgeError."""

    def forget(self, repository: str) -> bool:
        """Drop what was remembered after GitHub refused it; True if there is hope that a new one works."""

    def own_login(self) -> str:
        """Ask which account our comments are posted by."""


class TokenCredentials:
    """Use one token for everything."""

    is_app = False

    def __init__(self, transport: GitHubTransport, token: str) -> None:
        self._transport = transport
        self._auth = Auth.Token(token)

    def auth_for(self, repository: str) -> Auth.Auth:
        """Give the token."""
        return self._auth

    def forget(self, repository: str) -> bool:
        """Tell that there is no other token."""
        return False

    def own_login(self) -> str:
        """Read the token's account."""
        what = "the token's account"
        reply = self._transport.exchange(self._auth, "GET", "/user", what=what)
        return _text(_success(reply, what), "login", what)


class AppCredentials:
    """Act as a GitHub App, with a token per repository: none reaches further than the review that uses it.

    Tokens live an hour; they are kept per process and renewed a minute before they expire.
    https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app
    """

    is_app = True

    def __init__(self, transport: GitHubTransport, app_id: str, private_key: str) -> None:
        self._transport = transport
        # The clock may be a minute wrong either way: GitHub accepts ten minutes between the two at most.
        self._app = Auth.AppAuth(app_id, private_key, jwt_expiry=300, jwt_issued_at=-60)
        self._tokens: dict[str, tuple[Auth.Token, datetime]] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def auth_for(self, repository: str) -> Auth.Auth:
        """Give the repository's installation token, a new one if the old one is about to expire."""
        key = repository.lower()
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:  # one thread asks, the others of this repository wait for its answer
            known = self._tokens.get(key)
            if known is None or known[1] - _REFRESH_BEFORE <= datetime.now(UTC):
                known = self._tokens[key] = self._new_token(repository)
            return known[0]

    def forget(self, repository: str) -> bool:
        """Drop the repository's token: it may have been revoked before its time."""
        return self._tokens.pop(repository.lower(), None) is not None

    def own_login(self) -> str:
        """Derive the login of the App's bot from its slug."""
        what = "the App"
        reply = self._transport.exchange(self._app, "GET", "/app", what=what)
        self._check_id(reply)
        return f"{_text(_success(reply, what), 'slug', what)}[bot]"

    def _check_id(self, reply: Reply) -> None:
        if reply.status == 404 and reply.message == "Integration not found":
            raise ForgeDenied(
                f"GitHub knows no App with the id {self._app.app_id}: check REDLINE_GITHUB_APP_ID."
            )

    def _new_token(self, repository: str) -> tuple[Auth.Token, datetime]:
        owner, _, name = repository.partition("/")
        what = f"the App's installation on {repository}"
        path = f"/repos/{quote(owner, safe='')}/{quote(name, safe='')}/installation"
        reply = self._transport.exchange(self._app, "GET", path, what=what)
        self._check_id(reply)
        if reply.status == 404:
            raise ForgeMissing(
                f"The GitHub App is not installed on {repository}: its owner has to install it there."
            )
        found = _success(reply, what)
        reply = self._transport.exchange(
            self._app,
            "POST",
            f"/app/installations/{_number(found, 'id', what)}/access_tokens",
            what=what,
            body={"repositories": [name]},
            repeatable=True,  # a second token harms nobody
        )
        token = _success(reply, what)
        try:
            expires_at = datetime.fromisoformat(_text(token, "expires_at", what))
        except ValueError:
            raise ForgeUnavailable(f"GitHub's answer for {what} has no readable time of expiry.") from None
        return Auth.Token(_text(token, "token", what)), expires_at


def _success(reply: Reply, what: str) -> dict[str, Any]:
    if reply.status >= 300:
        raise error_of(reply, unclear=False, what=what, permission="metadata: read")
    try:
        data = reply.json()
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise ForgeUnavailable(f"GitHub's answer for {what} is no JSON object.")
    return data


def _text(data: dict[str, Any], key: str, what: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value:
        raise ForgeUnavailable(f"GitHub's answer for {what} has no {key}.")
    return value


def _number(data: dict[str, Any], key: str, what: str) -> int:
    value = data.get(key)
    if not isinstance(value, int):
        raise ForgeUnavailable(f"GitHub's answer for {what} has no {key}.")
    return value

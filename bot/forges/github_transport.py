"""Requests to the configured GitHub, and to nothing else: timeouts, repeats and waits in one place.

PyGithub builds and signs the requests; what is decided here is which of them may be sent twice. Its default
client repeats a POST after a 502 or a timeout, which posts a review twice.
"""

import threading
import time
import weakref
from collections.abc import ItemsView, Mapping
from typing import Any
from urllib.parse import urlsplit

from github import Auth, Github
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, RequestsResponse

from bot.forges.exchange import CONNECT_ONLY, Patience
from bot.forges.github_errors import Reply, rate_limit_wait

JSON = "application/vnd.github+json"
DIFF = "application/vnd.github.diff"
RAW = "application/vnd.github.raw+json"


class _ExactResponse(RequestsResponse):
    """An answer whose bytes survive, and whose address to go on to is not followed."""

    def read(self) -> str:
        # PyGithub wants text. Latin-1 maps each byte to one character and back; its own choice of charset
        # makes mojibake of a diff, and loses the bytes that are not UTF-8.
        return self.response.content.decode("latin-1")

    def getheaders(self) -> ItemsView[str, str]:
        # Without a location PyGithub returns the redirect instead of following it, here or to another host.
        return {key: value for key, value in self.headers.items() if key.lower() != "location"}.items()


class _HttpConnection(HTTPRequestsConnectionClass):
    def getresponse(self) -> RequestsResponse:
        return _ExactResponse(super().getresponse().response)


class _HttpsConnection(HTTPSRequestsConnectionClass):
    def getresponse(self) -> RequestsResponse:
        return _ExactResponse(super().getresponse().response)


class GitHubTransport:
    """Exchange requests with one GitHub server; threads may share it, each has a connection of its own.

    Times are in seconds. `max_wait_s` is how long one request may sleep for rate limits before it gives up;
    `seconds_between_writes` spaces writes out over all threads, as GitHub asks.
    """

    def __init__(
        self,
        api_url: str,
        *,
        timeout_s: float = 20.0,
        read_attempts: int = 3,
        backoff_s: float = 0.5,
        max_wait_s: float = 15.0,
        seconds_between_writes: float = 0.0,
    ) -> None:
        self._api_url = api_url.rstrip("/")
        self._timeout_s = timeout_s
        self._patience = Patience(
            forge="GitHub",
            rate_limit_wait=rate_limit_wait,
            certificate_hint="set REQUESTS_CA_BUNDLE to your own authority's file",
            read_attempts=read_attempts,
            backoff_s=backoff_s,
            max_wait_s=max_wait_s,
        )
        self._seconds_between_writes = seconds_between_writes
        self._next_write = 0.0
        self._lock = threading.Lock()
        self._local = threading.local()
        self._connections: weakref.WeakSet[_HttpConnection | _HttpsConnection] = weakref.WeakSet()

    def exchange(
        self,
        auth: Auth.Auth,
        verb: str,
        path: str,
        *,
        what: str,
        params: Mapping[str, str | int] | None = None,
        body: object = None,
        accept: str = JSON,
        repeatable: bool = False,
    ) -> Reply:
        """Send a request and return the answer, whatever its status; see `Patience.exchange`."""
        is_write = verb != "GET"

        def send() -> Reply:
            if is_write:
                self._wait_for_turn()
            return self._send(auth, verb, path, params=params, body=body, accept=accept)

        return self._patience.exchange(send, what=what, is_write=is_write, repeatable=repeatable)

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in list(self._connections):
            connection.close()

    def _send(
        self,
        auth: Auth.Auth,
        verb: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None,
        body: object,
        accept: str,
    ) -> Reply:
        # A new object each time, for PyGithub's are not safe to share between threads; the connection stays.
        requester = Github(
            auth=auth,
            base_url=self._api_url,
            user_agent="redline",
            seconds_between_requests=None,
            seconds_between_writes=None,
        ).requester
        headers: dict[str, Any] = {"Accept": accept}
        status, answer_headers, text = requester.requestJson(
            verb, path, dict(params or {}), headers, body, cnx=self._connection()
        )
        return Reply(status=status, headers=answer_headers, content=text.encode("latin-1"))

    def _connection(self) -> _HttpConnection | _HttpsConnection:
        connection: _HttpConnection | _HttpsConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            parts = urlsplit(self._api_url)
            kind = _HttpsConnection if parts.scheme == "https" else _HttpConnection
            connection = kind(parts.hostname or "", parts.port, retry=CONNECT_ONLY)
            connection.timeout = self._timeout_s  # type: ignore[assignment]  # PyGithub says int, requests takes both
            self._local.connection = connection
            self._connections.add(connection)
        return connection

    def _wait_for_turn(self) -> None:
        """Space writes out: at least a second apart, GitHub asks of those that create content."""
        if self._seconds_between_writes <= 0:
            return
        with self._lock:
            now = time.monotonic()
            turn = max(self._next_write, now)
            self._next_write = turn + self._seconds_between_writes
        time.sleep(turn - now)

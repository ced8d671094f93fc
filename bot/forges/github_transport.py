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

import requests
from github import Auth, Github
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, RequestsResponse
from urllib3 import Retry

from bot.forges.github_errors import Reply, asks_to_wait, connection_error, rate_limit_wait

JSON = "application/vnd.github+json"
DIFF = "application/vnd.github.diff"
RAW = "application/vnd.github.raw+json"

# Only connecting is repeated down there: what was sent is judged in GitHubTransport.exchange.
_CONNECT_ONLY = Retry(
    total=2,
    connect=2,
    read=0,
    redirect=0,
    status=0,
    other=0,
    backoff_factor=0.2,
    raise_on_status=False,
    respect_retry_after_header=False,
)
_MAX_RATE_REPEATS = 3


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
        self._read_attempts = read_attempts
        self._backoff_s = backoff_s
        self._max_wait_s = max_wait_s
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
        """Send a request and return the answer, whatever its status.

        A GET, or a write that is `repeatable` because doing it twice changes nothing, is tried again after a
        server error or a broken connection. Any request is tried again after a rate limit, which GitHub
        checks before it acts. Raises ForgeUnavailable, or AnswerUnclear if a write that must not happen twice
        may have been stored.
        """
        is_write = verb != "GET"
        attempts = self._read_attempts if repeatable or not is_write else 1
        attempt, rate_repeats, waited_s = 1, 0, 0.0
        while True:
            if is_write:
                self._wait_for_turn()
            try:
                reply = self._send(auth, verb, path, params=params, body=body, accept=accept)
            except requests.RequestException as error:
                if attempt >= attempts:
                    raise connection_error(error, unclear=is_write and not repeatable, what=what) from error
                self._back_off(attempt)
                attempt += 1
                continue
            wait_s = rate_limit_wait(reply)
            if wait_s is not None:
                waited_s += max(wait_s, self._backoff_s)
                if waited_s > self._max_wait_s or rate_repeats >= _MAX_RATE_REPEATS:
                    raise asks_to_wait(wait_s)
                rate_repeats += 1
                time.sleep(max(wait_s, self._backoff_s))
                continue
            if (reply.status >= 500 or reply.status == 408) and attempt < attempts:
                self._back_off(attempt)
                attempt += 1
                continue
            return reply

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
            connection = kind(parts.hostname or "", parts.port, retry=_CONNECT_ONLY)
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

    def _back_off(self, attempt: int) -> None:
        time.sleep(self._backoff_s * 2 ** (attempt - 1))

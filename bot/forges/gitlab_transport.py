"""Requests to the configured GitLab, and to nothing else: timeouts, repeats and waits in one place.

python-gitlab builds the addresses and signs the requests; what is decided here is which of them may be sent
twice, and that no redirect is followed: it would take the token along, to wherever an answer says.
"""

import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import requests
from gitlab import Gitlab
from gitlab._backends import DefaultBackend
from gitlab._backends.requests_backend import RequestsResponse
from gitlab.exceptions import GitlabError
from requests.adapters import HTTPAdapter

from bot.forges.base import FileTooLarge
from bot.forges.exchange import CONNECT_ONLY, Patience
from bot.forges.gitlab_errors import Reply, rate_limit_wait

MAX_ANSWER_BYTES = 100_000_000
_PIECE = 65_536


class _ReadResponse(RequestsResponse):
    """An answer that was read already, within its limit."""

    def __init__(self, response: requests.Response, content: bytes) -> None:
        super().__init__(response)
        self._content = content

    @property
    def content(self) -> bytes:
        return self._content

    def json(self) -> Any:
        raise ValueError("the error is explained by whoever asked")


class _Backend(DefaultBackend):
    """Keep the last answer as it came, whatever its status; follow no redirect; read no more than the limit."""

    answer: Reply
    max_bytes: int = MAX_ANSWER_BYTES

    def http_request(self, method: str, url: str, **options: Any) -> RequestsResponse:  # type: ignore[override]  # the same, by name
        options |= {"stream": True, "allow_redirects": False}
        with self.client.request(method=method, url=url, **options) as response:
            content = self._read(response)
        headers = {name.lower(): value for name, value in response.headers.items()}
        self.answer = Reply(status=response.status_code, headers=headers, content=content)
        return _ReadResponse(response, content)

    def _read(self, response: requests.Response) -> bytes:
        pieces, size = [], 0
        for piece in response.iter_content(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > self.max_bytes:
                raise FileTooLarge(f"GitLab's answer is larger than {self.max_bytes / 1e6:.0f} MB.")
        return b"".join(pieces)


class GitLabTransport:
    """Exchange requests with one GitLab server; threads may share it, each has a connection of its own.

    `url` is the server's address with the path it runs below. Times are in seconds. `max_wait_s` is how long
    one request may sleep for rate limits before it gives up.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        ca_file: Path | None = None,
        timeout_s: float = 20.0,
        read_attempts: int = 3,
        backoff_s: float = 0.5,
        max_wait_s: float = 15.0,
    ) -> None:
        self._url = url.rstrip("/").removesuffix("/api/v4")
        self._token = token
        self._ca_file = ca_file
        self._timeout_s = timeout_s
        self._patience = Patience(
            forge="GitLab",
            rate_limit_wait=rate_limit_wait,
            certificate_hint="set REDLINE_GITLAB_CA_FILE to your own authority's file",
            read_attempts=read_attempts,
            backoff_s=backoff_s,
            max_wait_s=max_wait_s,
        )
        self._local = threading.local()
        self._sessions: weakref.WeakSet[requests.Session] = weakref.WeakSet()

    def exchange(
        self,
        verb: str,
        path: str,
        *,
        what: str,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        max_bytes: int = MAX_ANSWER_BYTES,
        repeatable: bool = False,
    ) -> Reply:
        """Send a request and return the answer, whatever its status; see `Patience.exchange`.

        Raises FileTooLarge if the answer is longer than `max_bytes`.
        """

        def send() -> Reply:
            gitlab, backend = self._connection()
            backend.max_bytes = max_bytes
            with suppress(GitlabError):  # every answer is kept, and judged by whoever asked
                gitlab.http_request(
                    verb,
                    path,
                    query_data=dict(params or {}),
                    post_data=None if body is None else dict(body),
                    obey_rate_limit=False,
                    retry_transient_errors=False,
                )
            return backend.answer

        return self._patience.exchange(send, what=what, is_write=verb != "GET", repeatable=repeatable)

    def close(self) -> None:
        """Close the connections of all threads."""
        for session in list(self._sessions):
            session.close()

    def _connection(self) -> tuple[Gitlab, _Backend]:
        connection: tuple[Gitlab, _Backend] | None = getattr(self._local, "connection", None)
        if connection is None:
            session = requests.Session()
            session.mount("http://", HTTPAdapter(max_retries=CONNECT_ONLY))
            session.mount("https://", HTTPAdapter(max_retries=CONNECT_ONLY))
            backend = _Backend(session=session)
            gitlab = Gitlab(
                self._url,
                private_token=self._token,
                ssl_verify=str(self._ca_file) if self._ca_file else True,
                timeout=self._timeout_s,
                user_agent="redline",
                backend=lambda: backend,
            )
            connection = self._local.connection = (gitlab, backend)
            self._sessions.add(session)
        return connection

"""Signed requests about one repository, with errors as sentences and pages as lists."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bot.forges.base import (
    AnswerUnclear,
    BadPayload,
    ForgeError,
    ForgeMissing,
    ForgeRejected,
    ForgeUnavailable,
)
from bot.forges.github_auth import Credentials
from bot.forges.github_errors import Reply, error_of
from bot.forges.github_transport import JSON, GitHubTransport
from bot.forges.payload import Fields

# The most that GitHub gives: https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api
PAGE_SIZE = 100
MAX_PAGES = 100

_REPOSITORY = re.compile(r"(?!\.{1,2}/)[A-Za-z0-9._-]+/(?!\.{1,2}$)[A-Za-z0-9._-]+")
_NEXT_PAGE = re.compile(r'rel="?next\b')


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Name one address below a repository, what people call the thing there, and the permission it needs."""

    repository: str
    path: str
    what: str
    permission: str


class GitHubClient:
    """Read and write below a repository; raises only ForgeError and its kinds. Threads may share it."""

    def __init__(self, transport: GitHubTransport, credentials: Credentials) -> None:
        self._transport = transport
        self._credentials = credentials

    def ask(
        self,
        endpoint: Endpoint,
        verb: str = "GET",
        *,
        params: Mapping[str, str | int] | None = None,
        body: object = None,
        accept: str = JSON,
        repeatable: bool = False,
    ) -> Reply:
        """Send a request and return the answer whatever its status; the other methods raise for bad ones."""
        if _REPOSITORY.fullmatch(endpoint.repository) is None:
            raise ForgeMissing(f"{endpoint.repository!r} is no repository of GitHub: that is owner/name.")
        for _ in range(2):
            reply = self._transport.exchange(
                self._credentials.auth_for(endpoint.repository),
                verb,
                f"/repos/{endpoint.repository}{endpoint.path}",
                what=endpoint.what,
                params=params,
                body=body,
                accept=accept,
                repeatable=repeatable,
            )
            # Nothing was done by a request that was not let in, so a write may go again with a new token.
            if reply.status != 401 or not self._credentials.forget(endpoint.repository):
                break
        return reply

    def read(
        self, endpoint: Endpoint, *, params: Mapping[str, str | int] | None = None, accept: str = JSON
    ) -> Reply:
        """Read an address."""
        reply = self.ask(endpoint, params=params, accept=accept)
        if reply.status >= 300:
            raise failure(reply, endpoint)
        return reply

    def read_object(self, endpoint: Endpoint, *, params: Mapping[str, str | int] | None = None) -> Fields:
        """Read an address that holds one object."""
        return object_in(self.read(endpoint, params=params), endpoint)

    def read_list(self, endpoint: Endpoint, *, max_pages: int = MAX_PAGES) -> list[Fields]:
        """Read all pages of a list; raises ForgeRejected if there are more than `max_pages`.

        Pages are counted, and the address of the next one in the answer is not used: it is the server's word.
        """
        items: list[Fields] = []
        for page in range(1, max_pages + 1):
            reply = self.read(endpoint, params={"per_page": PAGE_SIZE, "page": page})
            with understood(endpoint):
                values = reply.json()
                if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
                    raise BadPayload("it is no list of objects.")
                items += [Fields(data=value) for value in values]
            link = reply.headers.get("link")
            if not (_NEXT_PAGE.search(link) if link else len(values) >= PAGE_SIZE):
                return items
        raise ForgeRejected(f"GitHub lists more than {max_pages * PAGE_SIZE} entries for {endpoint.what}.")

    def write(
        self,
        verb: str,
        endpoint: Endpoint,
        body: Mapping[str, Any] | None = None,
        *,
        repeatable: bool = False,
    ) -> Fields:
        """Send a write and return the object that is answered, an empty one if there is none."""
        reply = self.ask(endpoint, verb, body=body, repeatable=repeatable)
        if reply.status >= 300:
            raise failure(reply, endpoint, unclear=not repeatable)
        return object_in(reply, endpoint, unclear=not repeatable)


def failure(reply: Reply, endpoint: Endpoint, *, unclear: bool = False) -> ForgeError:
    """Explain an answer that is no success."""
    return error_of(reply, unclear=unclear, what=endpoint.what, permission=endpoint.permission)


def object_in(reply: Reply, endpoint: Endpoint, *, unclear: bool = False) -> Fields:
    """Decode an answer that must be one object, or nothing (204)."""
    with understood(endpoint, unclear=unclear):
        data = reply.json()
        if data is None and reply.status == 204:
            data = {}
        if not isinstance(data, dict):
            raise BadPayload("it is no object.")
        return Fields(data=data)


@contextmanager
def understood(endpoint: Endpoint, *, unclear: bool = False) -> Iterator[None]:
    """Turn what an answer lacks into a ForgeError; `unclear` for a write, of which we then know nothing."""
    try:
        yield
    except (BadPayload, ValueError) as error:
        kind = AnswerUnclear if unclear else ForgeUnavailable
        raise kind(f"GitHub's answer for {endpoint.what} cannot be understood: {error}") from error

"""Requests about one project, with errors as sentences and pages as lists."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bot.forges.base import (
    AnswerUnclear,
    BadPayload,
    ForgeError,
    ForgeMissing,
    ForgeRejected,
    ForgeUnavailable,
)
from bot.forges.gitlab_errors import Reply, error_of
from bot.forges.gitlab_names import is_project_path
from bot.forges.gitlab_transport import MAX_ANSWER_BYTES, GitLabTransport
from bot.forges.payload import Fields

# The most that GitLab gives: https://docs.gitlab.com/api/rest/#offset-based-pagination
PAGE_SIZE = 100
MAX_PAGES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Name one address below a project, what people call the thing there, and the role it needs.

    With an empty project the address is the server's own.
    """

    project: str
    path: str
    what: str
    role: str = "Reporter"

    def below(self, path: str, what: str, role: str = "") -> "Endpoint":
        """Name an address further down."""
        return Endpoint(project=self.project, path=f"{self.path}{path}", what=what, role=role or self.role)


class GitLabClient:
    """Read and write below a project; raises only ForgeError and its kinds. Threads may share it."""

    def __init__(self, transport: GitLabTransport) -> None:
        self._transport = transport

    def ask(
        self,
        endpoint: Endpoint,
        verb: str = "GET",
        *,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        max_bytes: int = MAX_ANSWER_BYTES,
        repeatable: bool = False,
    ) -> Reply:
        """Send a request and return the answer whatever its status; the other methods raise for bad ones."""
        prefix = ""
        if endpoint.project:
            if not is_project_path(endpoint.project):
                raise ForgeMissing(f"{endpoint.project!r} is no project of GitLab: that is group/project.")
            # As one part of the address, its groups included.
            prefix = f"/projects/{quote(endpoint.project, safe='')}"
        return self._transport.exchange(
            verb,
            f"{prefix}{endpoint.path}",
            what=endpoint.what,
            params=params,
            body=body,
            max_bytes=max_bytes,
            repeatable=repeatable,
        )

    def read(self, endpoint: Endpoint, *, params: Mapping[str, str | int] | None = None) -> Reply:
        """Read an address."""
        reply = self.ask(endpoint, params=params)
        if reply.status >= 300:
            raise failure(reply, endpoint)
        return reply

    def read_object(self, endpoint: Endpoint) -> Fields:
        """Read an address that holds one object."""
        return object_in(self.read(endpoint), endpoint)

    def read_list(
        self, endpoint: Endpoint, *, params: Mapping[str, str | int] | None = None, max_pages: int = MAX_PAGES
    ) -> list[Fields]:
        """Read all pages of a list; raises ForgeRejected if there are more than `max_pages`.

        Pages are counted, and the address of the next one in the answer is not used: behind a proxy it often
        names another server.
        """
        items: list[Fields] = []
        for page in range(1, max_pages + 1):
            reply = self.read(endpoint, params={**(params or {}), "per_page": PAGE_SIZE, "page": page})
            values = objects_in(reply, endpoint)
            items += values
            # Empty on the last page.
            following = reply.headers.get("x-next-page")
            if not (following.strip() if following is not None else len(values) >= PAGE_SIZE):
                return items
        raise ForgeRejected(f"GitLab lists more than {max_pages * PAGE_SIZE} entries for {endpoint.what}.")

    def write(
        self,
        verb: str,
        endpoint: Endpoint,
        body: Mapping[str, Any] | None = None,
        *,
        repeatable: bool = False,
    ) -> Reply:
        """Send a write and return the answer."""
        reply = self.ask(endpoint, verb, body=body, repeatable=repeatable)
        if reply.status >= 300:
            raise failure(reply, endpoint, unclear=not repeatable)
        return reply


def failure(reply: Reply, endpoint: Endpoint, *, unclear: bool = False) -> ForgeError:
    """Explain an answer that is no success."""
    project = endpoint.project or "GitLab"
    return error_of(reply, unclear=unclear, what=endpoint.what, project=project, role=endpoint.role)


def object_in(reply: Reply, endpoint: Endpoint, *, unclear: bool = False) -> Fields:
    """Decode an answer that must be one object."""
    with understood(endpoint, unclear=unclear):
        data = reply.json()
        if not isinstance(data, dict):
            raise BadPayload("it is no object.")
        return Fields(data=data)


def objects_in(reply: Reply, endpoint: Endpoint) -> list[Fields]:
    """Decode an answer that must be a list of objects."""
    with understood(endpoint):
        values = reply.json()
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            raise BadPayload("it is no list of objects.")
        return [Fields(data=value) for value in values]


@contextmanager
def understood(endpoint: Endpoint, *, unclear: bool = False) -> Iterator[None]:
    """Turn what an answer lacks into a ForgeError; `unclear` for a write, of which we then know nothing."""
    try:
        yield
    except (BadPayload, ValueError) as error:
        kind = AnswerUnclear if unclear else ForgeUnavailable
        raise kind(f"GitLab's answer for {endpoint.what} cannot be understood: {error}") from error

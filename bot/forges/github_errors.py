"""What GitHub's answers mean: statuses and bodies become `ForgeError`s with a sentence.

https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import requests
import urllib3.exceptions
from github.Requester import Requester

from bot.forges.base import (
    AnswerUnclear,
    ForgeDenied,
    ForgeError,
    ForgeMissing,
    ForgeRejected,
    ForgeUnavailable,
)

# Without a Retry-After, GitHub asks for at least a minute.
# https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
UNSTATED_WAIT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of GitHub, its body as the bytes that came; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> object:
        """Decode the body, None if it is empty; raises ValueError."""
        try:
            return json.loads(self.content) if self.content else None
        except RecursionError as error:
            raise ValueError("the JSON is nested too deeply") from error

    @property
    def message(self) -> str:
        """Give GitHub's own message, "" where the body has none, such as a proxy's page."""
        body = self._body()
        return body["message"] if isinstance(body.get("message"), str) else ""

    @property
    def complaints(self) -> tuple[str, ...]:
        """Give the texts in `errors`: strings at some endpoints, objects at others."""
        errors = self._body().get("errors")
        found = []
        for error in errors if isinstance(errors, list) else [errors]:
            if isinstance(error, str):
                found.append(error)
            elif isinstance(error, dict):
                found.append(
                    " ".join(str(error[key]) for key in ("field", "code", "message") if error.get(key))
                )
        return tuple(found)

    @property
    def text(self) -> str:
        """Give message and complaints as one phrase for people."""
        return ": ".join(part for part in (self.message.rstrip("."), "; ".join(self.complaints)) if part)

    def _body(self) -> dict[str, Any]:
        try:
            body = self.json()
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}


def rate_limit_wait(reply: Reply) -> float | None:
    """Tell how many seconds GitHub wants us to wait before the same request; None if it is not about that."""
    message = reply.message
    primary = Requester.isPrimaryRateLimitError(message)
    stated = reply.headers.get("retry-after", "")
    if reply.status == 422:
        return UNSTATED_WAIT_S if "submitted too quickly" in reply.text else None
    if reply.status != 429 and not (
        reply.status == 403 and (stated or primary or Requester.isSecondaryRateLimitError(message))
    ):
        return None
    if stated.isascii() and stated.isdigit():
        return float(stated[:9])
    reset = reply.headers.get("x-ratelimit-reset", "")
    if primary and reset.isascii() and reset.isdigit():
        return max(float(reset[:12]) - time.time(), 0.0) + 1.0
    return UNSTATED_WAIT_S


def asks_to_wait(wait_s: float) -> ForgeUnavailable:
    """Explain a rate limit that is too long to sit out."""
    return ForgeUnavailable(
        f"GitHub's rate limit is reached: it asks to wait {wait_s:.0f} s.", retry_after_s=wait_s
    )


def error_of(reply: Reply, *, unclear: bool, what: str, permission: str) -> ForgeError:
    """Explain an answer that is no success.

    `unclear` says that this was a write which must not happen twice: a server error leaves it open.
    `what` names what was asked for ("the diff of acme/shop#7") and `permission` what the endpoint needs
    ("pull requests: write"), for where GitHub does not state it itself.
    """
    said = f" ({reply.status} {reply.text})" if reply.text else f" ({reply.status})"
    kind: type[ForgeError]
    match reply.status:
        case status if status >= 500 or status == 408:
            if unclear:
                kind, sentence = (
                    AnswerUnclear,
                    f"GitHub failed while storing {what}{said}: it may be there or not.",
                )
            else:
                kind, sentence = ForgeUnavailable, f"GitHub failed to answer for {what}{said}."
        case status if 300 <= status < 400:
            kind = ForgeMissing
            sentence = (
                f"GitHub has moved {what}{said}: the repository was renamed or transferred, "
                "and its next event comes with the new name."
            )
        case 401:
            kind = ForgeDenied
            sentence = (
                f"GitHub does not accept our credentials for {what}{said}: "
                "check REDLINE_GITHUB_TOKEN, or the App's id and private key, and the server's clock."
            )
        case 403 | 451:
            needed = reply.headers.get("x-accepted-github-permissions", "").replace("=", ": ") or permission
            kind = ForgeDenied
            sentence = f"GitHub denies {what}{said}: the token or App needs the permission {needed}."
        case 404 | 410:
            kind = ForgeMissing
            sentence = (
                f"GitHub does not find {what}{said}: it is gone, or the token or App may not see it, "
                f"which needs the permission {permission}."
            )
        case _:
            kind, sentence = ForgeRejected, f"GitHub refused {what}{said}."
    return kind(sentence)


def connection_error(error: requests.RequestException, *, unclear: bool, what: str) -> ForgeError:
    """Explain why no answer came; `unclear` as in `error_of`."""
    if never_sent(error):
        return ForgeUnavailable(f"GitHub cannot be reached for {what}: {_cause(error)}.")
    if unclear:
        return AnswerUnclear(f"The connection to GitHub broke while storing {what}: {_cause(error)}.")
    return ForgeUnavailable(f"The connection to GitHub broke off for {what}: {_cause(error)}.")


def never_sent(error: requests.RequestException) -> bool:
    """Tell whether the request certainly did not leave: there was no connection to send it on."""
    if isinstance(
        error, requests.ConnectTimeout | requests.exceptions.SSLError | requests.exceptions.ProxyError
    ):
        return True
    reason = error.args[0] if error.args else None
    if isinstance(reason, urllib3.exceptions.MaxRetryError):
        reason = reason.reason
    return isinstance(reason, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError)


def _cause(error: requests.RequestException) -> str:
    """Name the kind only: the text of these errors holds object addresses and whole URLs."""
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not trusted (set REQUESTS_CA_BUNDLE to your own authority's file)"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    return type(error).__name__

"""What GitHub's answers mean: statuses and bodies become `ForgeError`s with a sentence.

https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
"""

import time
from dataclasses import dataclass
from typing import Any

from github.Requester import Requester

from bot.forges import exchange
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
class Reply(exchange.Reply):
    """One answer of GitHub."""

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

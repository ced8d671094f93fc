"""What GitLab's answers mean: statuses and bodies become `ForgeError`s with a sentence.

https://docs.gitlab.com/api/rest/troubleshooting/
"""

import json
import time
from dataclasses import dataclass
from typing import Any

from bot.forges import exchange
from bot.forges.base import (
    AnswerUnclear,
    ForgeDenied,
    ForgeError,
    ForgeMissing,
    ForgeRejected,
    ForgeUnavailable,
)

# Its limits are per minute unless somebody changed them:
# https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/
UNSTATED_WAIT_S = 60.0
_MAX_TEXT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(exchange.Reply):
    """One answer of GitLab."""

    @property
    def text(self) -> str:
        """Give GitLab's own words as one phrase for people, "" where the body has none, such as a proxy's page.

        `message` is text, an object or a list; OAuth's errors have `error` and `error_description` instead.
        """
        body = self._body()
        parts = [body.get("message"), body.get("error"), body.get("error_description")]
        texts = [
            part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts if part
        ]
        return ": ".join(text.rstrip(".") for text in texts)[:_MAX_TEXT]

    @property
    def missing_scope(self) -> str:
        """Give the scope that the token lacks, if GitLab says so."""
        body = self._body()
        return str(body.get("scope") or "api") if body.get("error") == "insufficient_scope" else ""

    def _body(self) -> dict[str, Any]:
        try:
            body = self.json()
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}


def rate_limit_wait(reply: Reply) -> float | None:
    """Tell how many seconds GitLab wants us to wait before the same request; None if it is not about that."""
    if reply.status != 429:
        return None
    stated = reply.headers.get("retry-after", "")
    if stated.isascii() and stated.isdigit():
        return float(stated[:9])
    reset = reply.headers.get("ratelimit-reset", "")
    if reset.isascii() and reset.isdigit():
        return max(float(reset[:12]) - time.time(), 0.0) + 1.0
    return UNSTATED_WAIT_S


def error_of(reply: Reply, *, unclear: bool, what: str, project: str, role: str) -> ForgeError:
    """Explain an answer that is no success.

    `unclear` says that this was a write which must not happen twice: a server error leaves it open. `what`
    names what was asked for ("the diff of acme/shop!7") and `role` what the account needs in the project.
    """
    said = f" ({reply.status} {reply.text})" if reply.text else f" ({reply.status})"
    kind: type[ForgeError]
    match reply.status:
        case status if status >= 500 or status == 408:
            if unclear:
                kind, sentence = (
                    AnswerUnclear,
                    f"GitLab failed while storing {what}{said}: it may be there or not.",
                )
            else:
                kind, sentence = ForgeUnavailable, f"GitLab failed to answer for {what}{said}."
        case status if 300 <= status < 400:
            kind, sentence = _redirected(reply, what, said)
        case 401:
            kind = ForgeDenied
            sentence = (
                f"GitLab does not accept our token for {what}{said}: check that REDLINE_GITLAB_TOKEN is a "
                "personal, project or group access token with the scope api that has not expired. "
                "A CI_JOB_TOKEN does not do."
            )
        case 403 if reply.missing_scope:
            kind = ForgeDenied
            sentence = f"GitLab denies {what}{said}: the token needs the scope {reply.missing_scope}."
        case 403:
            kind = ForgeDenied
            sentence = (
                f"GitLab denies {what}{said}: the token needs the scope api, and its account at least the role "
                f"{role} in {project}."
            )
        case 404 | 410:
            kind = ForgeMissing
            sentence = (
                f"GitLab does not find {what}{said}: it is gone, or the token's account has not at least the "
                f"role {role} in {project}."
            )
        case 405:
            kind = ForgeMissing
            sentence = f"GitLab does not take {what}{said}: the project was renamed or transferred."
        case _:
            kind, sentence = ForgeRejected, f"GitLab refused {what}{said}."
    return kind(sentence)


def _redirected(reply: Reply, what: str, said: str) -> tuple[type[ForgeError], str]:
    """Explain a redirect, which is never followed: it could lead to another server, and our token with it."""
    location = reply.headers.get("location", "")
    if "/users/sign_in" in location:
        return ForgeDenied, (
            f"GitLab asks to sign in for {what}{said}: check REDLINE_GITLAB_TOKEN, and that nothing between "
            "here and GitLab asks for a login of its own."
        )
    if "/api/v4/projects/" in location:
        return ForgeMissing, (
            f"GitLab has moved {what}{said}: the project was renamed or transferred, and its next event comes "
            "with the new name."
        )
    return ForgeRejected, (
        f"GitLab has {what} at another address{said}: set REDLINE_GITLAB_URL to the one that GitLab itself "
        "uses, https:// and path included."
    )

"""Sending one request to a forge: what may be repeated, how long is waited, and why no answer came.

Both forges' clients build and sign requests with a library each; when one is sent again is decided here alone,
because those libraries repeat writes after a timeout or a server error, which posts a review twice.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import requests
import urllib3.exceptions
from urllib3 import Retry

from bot.forges.base import AnswerUnclear, ForgeError, ForgeUnavailable

# Only connecting is repeated down there: what was sent is judged in `Patience.exchange`.
CONNECT_ONLY = Retry(
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of a forge, its body as the bytes that came; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> object:
        """Decode the body, None if it is empty; raises ValueError."""
        try:
            return json.loads(self.content) if self.content else None
        except RecursionError as error:
            raise ValueError("the JSON is nested too deeply") from error


R = TypeVar("R", bound=Reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience(Generic[R]):
    """How often a request to one forge is tried, and how long is waited in between; times are in seconds.

    `rate_limit_wait` tells how long an answer asks us to wait before the same request, None if it does not.
    `max_wait_s` is how long one request may sleep for that before it gives up. `certificate_hint` says what to
    do about a certificate that is not trusted.
    """

    forge: str
    rate_limit_wait: Callable[[R], float | None]
    certificate_hint: str
    read_attempts: int
    backoff_s: float
    max_wait_s: float

    def exchange(self, send: Callable[[], R], *, what: str, is_write: bool, repeatable: bool) -> R:
        """Send a request and return the answer, whatever its status.

        A read, or a write that is `repeatable` because doing it twice changes nothing, is tried again after a
        server error or a broken connection. Any request is tried again after a rate limit, which forges check
        before they act. Raises ForgeUnavailable, or AnswerUnclear if a write that must not happen twice may
        have been stored.
        """
        attempts = self.read_attempts if repeatable or not is_write else 1
        attempt, rate_repeats, waited_s = 1, 0, 0.0
        while True:
            try:
                reply = send()
            except requests.RequestException as error:
                if attempt >= attempts:
                    raise self._explain(error, unclear=is_write and not repeatable, what=what) from error
                self._back_off(attempt)
                attempt += 1
                continue
            wait_s = self.rate_limit_wait(reply)
            if wait_s is not None:
                waited_s += max(wait_s, self.backoff_s)
                if waited_s > self.max_wait_s or rate_repeats >= _MAX_RATE_REPEATS:
                    raise ForgeUnavailable(
                        f"{self.forge}'s rate limit is reached: it asks to wait {wait_s:.0f} s.",
                        retry_after_s=wait_s,
                    )
                rate_repeats += 1
                time.sleep(max(wait_s, self.backoff_s))
                continue
            if (reply.status >= 500 or reply.status == 408) and attempt < attempts:
                self._back_off(attempt)
                attempt += 1
                continue
            return reply

    def _back_off(self, attempt: int) -> None:
        time.sleep(self.backoff_s * 2 ** (attempt - 1))

    def _explain(self, error: requests.RequestException, *, unclear: bool, what: str) -> ForgeError:
        """Explain why no answer came; `unclear` says that this was a write which must not happen twice."""
        cause = self._cause(error)
        if _never_sent(error):
            return ForgeUnavailable(f"{self.forge} cannot be reached for {what}: {cause}.")
        if unclear:
            return AnswerUnclear(f"The connection to {self.forge} broke while storing {what}: {cause}.")
        return ForgeUnavailable(f"The connection to {self.forge} broke off for {what}: {cause}.")

    def _cause(self, error: requests.RequestException) -> str:
        """Name the kind only: the text of these errors holds object addresses and whole URLs."""
        if isinstance(error, requests.exceptions.SSLError):
            return f"its certificate is not trusted ({self.certificate_hint})"
        if isinstance(error, requests.Timeout):
            return "no answer in time"
        return type(error).__name__


def _never_sent(error: requests.RequestException) -> bool:
    """Tell whether the request certainly did not leave: there was no connection to send it on."""
    if isinstance(
        error, requests.ConnectTimeout | requests.exceptions.SSLError | requests.exceptions.ProxyError
    ):
        return True
    reason = error.args[0] if error.args else None
    if isinstance(reason, urllib3.exceptions.MaxRetryError):
        reason = reason.reason
    return isinstance(reason, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError)

"""What the webhooks of both forges have in common."""

import hashlib
import re
from typing import Protocol

MARKER = "<!-- redline:"  # what each of our own comments starts its hidden part with

_GUID = re.compile(r"[A-Za-z0-9_.-]{1,100}")


class Headers(Protocol):
    """A request's headers, as every web framework has them."""

    def get(self, name: str, /) -> str | None:
        """Give a header, None if it is missing."""


def delivery_id(header: str | None, raw_body: bytes, *, suffix: str = "") -> str:
    """Give the id by which a delivery is known again: the forge's own, or else one made from the body."""
    if header and _GUID.fullmatch(header):
        return header
    return f"sha256-{hashlib.sha256(raw_body).hexdigest()}{suffix}"

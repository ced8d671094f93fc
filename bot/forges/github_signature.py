"""The signature that GitHub puts on a webhook."""

import hashlib
import hmac
from collections.abc import Sequence

PREFIX = b"sha256="


def verify_github_signature(raw_body: bytes, header: str | None, secrets: Sequence[bytes]) -> bool:
    """Tell whether `X-Hub-Signature-256` was made over these bytes with one of the secrets.

    Without a header or without a secret the answer is False.
    https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
    """
    if header is None:
        return False
    # Bytes, because compare_digest raises TypeError for text beyond ASCII, and a stranger writes the header.
    given = header.encode("utf-8", "surrogatepass")
    matches = [
        hmac.compare_digest(PREFIX + hmac.new(secret, raw_body, hashlib.sha256).hexdigest().encode(), given)
        for secret in secrets
        if secret
    ]
    return any(matches)

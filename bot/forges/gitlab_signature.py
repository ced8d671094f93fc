"""What proves that a webhook comes from GitLab: its secret token, or the signature of its signing token.

https://docs.gitlab.com/user/project/integrations/webhooks/
"""

import binascii
import hmac
from base64 import b64decode
from collections.abc import Sequence

from standardwebhooks import Webhook, WebhookVerificationError

from bot.forges.webhook import Headers

SIGNING_PREFIX = b"whsec_"
_SIGNED = ("webhook-id", "webhook-timestamp", "webhook-signature")


def verify_gitlab_webhook(raw_body: bytes, headers: Headers, secrets: Sequence[bytes]) -> bool:
    """Tell whether a webhook carries one of the secret tokens, or is signed with one of the signing tokens.

    A secret that starts with `whsec_` is a signing token: its signature covers id, time and body by the
    Standard Webhooks specification, and is good for five minutes. Without a secret the answer is False.
    """
    # Bytes, because compare_digest raises TypeError for text beyond ASCII, and a stranger writes the header.
    given = (headers.get("X-Gitlab-Token") or "").encode("utf-8", "surrogatepass")
    matches = [
        _is_signed(raw_body, headers, secret)
        if secret.startswith(SIGNING_PREFIX)
        else hmac.compare_digest(secret, given)
        for secret in secrets
        if secret
    ]
    return any(matches)


def is_usable_secret(secret: bytes) -> bool:
    """Tell whether a secret can be compared or signed with: a signing token must be base64."""
    if not secret.startswith(SIGNING_PREFIX):
        return True
    try:
        return bool(b64decode(secret.removeprefix(SIGNING_PREFIX), validate=True))
    except binascii.Error:
        return False


def _is_signed(raw_body: bytes, headers: Headers, secret: bytes) -> bool:
    signed = {name: headers.get(name) or "" for name in _SIGNED}
    try:
        Webhook(secret.decode()).verify(raw_body, signed, json_parse=False)
    except (WebhookVerificationError, ValueError):  # ValueError for signatures and bodies that are no text
        return False
    return True

"""The least that a receiver can do: check the signature and answer. What ours is measured against."""

import hashlib
import hmac
import os

from flask import Flask, request

SECRET = os.environ.get("BENCH_SECRET", "").encode()

app = Flask(__name__)


@app.post("/webhooks/github")
def receive() -> tuple[dict[str, str], int]:
    """Check the signature over the raw body."""
    expected = "sha256=" + hmac.new(SECRET, request.get_data(cache=False), hashlib.sha256).hexdigest()
    given = request.headers.get("X-Hub-Signature-256", "")
    if not hmac.compare_digest(expected.encode(), given.encode("utf-8", "surrogateescape")):
        return {"outcome": "refused"}, 401
    return {"outcome": "accepted"}, 202

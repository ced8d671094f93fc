"""The Flask application: the receiver, the admin pages and the health checks, put together."""

import hashlib

from flask import Flask

from bot.web import admin, health, webhooks
from bot.web.services import Services


def create_app(services: Services) -> Flask:
    """Build the application; it opens nothing by itself."""
    app = Flask("bot.web")
    app.extensions["redline"] = services
    # A new token ends all sessions, since the key comes from it.
    app.secret_key = hashlib.sha256(b"session:" + services.admin_token.encode()).digest()
    app.config.update(
        SESSION_COOKIE_NAME="redline",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Strict",
        SESSION_COOKIE_SECURE=services.settings.public_url.startswith("https://"),
        MAX_CONTENT_LENGTH=webhooks.BODY_LIMIT,
    )
    app.register_blueprint(webhooks.blueprint)
    app.register_blueprint(admin.blueprint)
    app.register_blueprint(health.blueprint)
    return app

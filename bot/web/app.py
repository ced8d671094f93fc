"""The Flask application: the receiver, the admin pages and the health checks, put together."""

import hashlib

from flask import Flask, Request
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface

from bot.web import admin, health, webhooks
from bot.web.services import Services


class _AdminSessions(SecureCookieSessionInterface):
    """Sessions of people: a webhook has none, and should not pay for looking."""

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        """Read the session cookie on the admin pages only; elsewhere Flask takes None as no session."""
        return super().open_session(app, request) if request.path.startswith("/admin") else None


def create_app(services: Services) -> Flask:
    """Build the application; it opens nothing by itself."""
    app = Flask("bot.web")
    app.session_interface = _AdminSessions()
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

"""Who may do what."""

import hmac
import secrets

from shop.storage import load_user, save_session


class Forbidden(Exception):
    """The user may not do this."""


def log_in(name, password_hash):
    """Start a session for whoever knows the password's hash."""
    user = load_user(name)
    if user is None or not hmac.compare_digest(user.password_hash, password_hash):
        raise Forbidden(name)
    token = secrets.token_urlsafe(32)
    save_session(token, user)
    return token


def delete_account(actor, user):
    """Delete a user's account."""
    if actor.id != user.id and not actor.is_admin:
        raise Forbidden(actor.name)
    user.delete()

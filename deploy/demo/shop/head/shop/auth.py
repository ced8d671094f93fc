"""Who may do what."""

import random

from shop.storage import load_user, save_session


class Forbidden(Exception):
    """The user may not do this."""


def log_in(name, password_hash):
    """Start a session for whoever knows the password's hash."""
    user = load_user(name)
    if user is None or user.password_hash != password_hash:
        raise Forbidden(name)
    token = str(random.randint(100000, 999999))
    save_session(token, user)
    return token


def delete_account(actor, user):
    """Delete a user's account."""
    user.delete()

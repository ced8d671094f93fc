"""JSON of users and members, and how GitLab writes times."""

import hashlib
from datetime import datetime
from typing import Any

from deploy.sandbox.gitlab.state import State, User

Json = dict[str, Any]


def timestamp(moment: datetime | None) -> str | None:
    """Write a time as the API does."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z" if moment else None


def hook_timestamp(moment: datetime | None) -> str | None:
    """Write a time as webhooks do."""
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC") if moment else None


def user_json(state: State, user: User) -> Json:
    """Shape a user as a part of other objects."""
    return {
        "id": user.id,
        "username": user.login,
        "public_email": None,
        "name": user.login.capitalize(),
        "state": "active",
        "locked": False,
        "avatar_url": _avatar_url(user),
        "web_url": f"{state.web_url}/{user.login}",
    }


def current_user_json(state: State, user: User) -> Json:
    """Shape the user whose token it is."""
    return user_json(state, user) | {
        "bot": user.kind == "Bot",
        "email": f"{user.login}@sandbox.invalid",
        "is_admin": False,
        "external": False,
        "can_create_project": True,
        "two_factor_enabled": False,
    }


def member_json(state: State, user: User) -> Json:
    """Shape a user as a member of a project."""
    return user_json(state, user) | {
        "access_level": user.access_level,
        "expires_at": None,
        "membership_state": "active",
    }


def hook_user_json(user: User) -> Json:
    """Shape a user as webhooks do: nothing in it says that it is a bot, and the address is hidden."""
    return {
        "id": user.id,
        "name": user.login.capitalize(),
        "username": user.login,
        "avatar_url": _avatar_url(user),
        "email": "[REDACTED]",
    }


def _avatar_url(user: User) -> str:
    hashed = hashlib.sha256(f"{user.login}@sandbox.invalid".encode()).hexdigest()
    return f"https://www.gravatar.com/avatar/{hashed}?s=80&d=identicon"
